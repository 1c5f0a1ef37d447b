"""A target in; a `dynamic_shapes` that torch exported with, and that ran with other sizes, out."""
