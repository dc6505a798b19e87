"""ducktape on our hosts: accounts, the cluster, services, the session."""
