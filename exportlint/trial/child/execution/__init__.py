"""A model and inputs in, records of what its calls did out, ready to be compared."""
