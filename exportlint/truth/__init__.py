"""Fixtures in, what an installed torch really does with them out."""
