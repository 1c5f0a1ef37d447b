"""The sample of a target in, other inputs of the same kind out."""
