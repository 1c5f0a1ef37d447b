"""Runs every forward in the abstract: entries and values in, a belief about each expression out."""
