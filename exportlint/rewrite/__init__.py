"""A place that torch does not export in, and general ways to write its function differently out."""
