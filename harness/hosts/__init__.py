"""What a host can do, behind one interface."""
