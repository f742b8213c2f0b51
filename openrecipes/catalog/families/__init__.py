"""Model families: what a Hugging Face config of each means in tensors and in Megatron arguments."""
