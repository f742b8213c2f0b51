"""What is installed and loaded here."""
