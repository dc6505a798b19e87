"""The `rackspan` command: one file a verb, registered in app.py."""
