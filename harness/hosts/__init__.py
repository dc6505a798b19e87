"""Hosts behind one interface."""
