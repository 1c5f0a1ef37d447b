"""Numbers that are read from tensors in, text that leaves them in tensors or gives export a symbol out."""
