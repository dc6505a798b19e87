"""The checker: the fate of every acknowledged record, from clients, replicas' logs and the metadata log."""
