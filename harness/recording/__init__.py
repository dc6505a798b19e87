"""What a run records beside its clients: reads, logs of replicas, metadata, metrics, errors."""
