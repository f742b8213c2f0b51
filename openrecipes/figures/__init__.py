"""The published figures, each formula once: throughput, MFU, cost, GPU-hours."""
