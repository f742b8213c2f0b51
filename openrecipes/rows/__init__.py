"""Packed SFT rows."""
