"""A saved program and inputs in; what the torch of another environment makes of them out."""
