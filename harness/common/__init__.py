"""What every part uses: errors, waiting, progress, files, subprocesses."""
