"""The command that a recipe stands for."""
