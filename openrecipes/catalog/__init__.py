"""What GPUs, prices, models and trainers are, as data: each fact with its source and date."""
