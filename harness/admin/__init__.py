"""Changes through the admin client: topics, replicas, cluster defaults."""
