"""Calls of torch's own interface in, the calls that export takes out."""
