"""Parallel layouts as arithmetic: degrees, what divides what, and the label."""
