"""Services for system tests: a cluster, load clients, stock Python clients, metrics, checks of what they left."""
