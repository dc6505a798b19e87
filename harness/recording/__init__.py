"""Recording of a run beside its clients: reads, logs of replicas, metadata, metrics, errors."""
