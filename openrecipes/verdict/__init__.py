"""What a recipe's claim is worth by its own evidence."""
