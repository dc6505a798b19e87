"""Load clients: an open-loop Java producer and a reader, driven by command line and file."""
