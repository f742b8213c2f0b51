"""Whether a fast run computes the right thing: components, configuration, loss curves."""
