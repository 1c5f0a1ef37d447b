"""Syntax of classes in; which of their attributes carry a value from one call to the next, out."""
