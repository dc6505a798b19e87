"""A Kafka cluster: its nodes, their files, their start and end, and its state."""
