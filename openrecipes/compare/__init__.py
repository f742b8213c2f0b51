"""What differs between two results, and does it matter: ratio, interval, verdict, stack drift."""
