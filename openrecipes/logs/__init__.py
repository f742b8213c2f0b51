"""Raw training logs of any supported trainer in, one record an optimizer step out."""
