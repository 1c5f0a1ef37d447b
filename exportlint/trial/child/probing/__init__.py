"""Inputs in; others that take a model another way, and what it then gives beside another run of it, out."""
