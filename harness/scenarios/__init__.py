"""Runs that tell a story from start to end: each brings its clusters up, leaves a run folder, and takes them down."""
