"""A target's description in, makers of its model and its inputs out."""
