"""A condition that Python decides in, whether data decides it out, and whether a `torch._check` before it does."""
