"""Calls of custom operators in; what their fake kernels say wrongly, and drafts of those that are missing, out."""
