"""Numbers of Python, written for the tensors that take their place."""
