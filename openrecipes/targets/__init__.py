"""Where to run: scripts, starting, following."""
