"""The desired cluster: the spec, its nodes, links and addresses, and the state kept of it. Pure."""
