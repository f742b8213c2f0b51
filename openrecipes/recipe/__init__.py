"""What a recipe says: models, reading, canonical text."""
