"""Rules over recipes."""
