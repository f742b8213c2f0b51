"""Results into recipe files."""
