"""The checker: what became of every acknowledged record, judged from clients, replicas' logs and the metadata log."""
