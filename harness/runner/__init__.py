"""Running system tests: a cluster and accounts for ducktape that need neither sshd nor root, and a session of tests."""
