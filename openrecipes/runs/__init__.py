"""Run directories and records."""
