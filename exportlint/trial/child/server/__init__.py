"""Processes from inside: a request in, a fork that answers it out."""
