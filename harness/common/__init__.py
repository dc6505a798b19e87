"""Shared by all folders: errors, waiting, progress, files, subprocesses."""
