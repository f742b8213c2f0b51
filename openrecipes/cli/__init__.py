"""Verbs, exit codes, the only printing."""
