"""Python, NumPy and packed sequences in, operations of whole tensors out."""
