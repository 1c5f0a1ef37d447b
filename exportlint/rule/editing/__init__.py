"""Changes of nodes in, edits of the source that still parses out."""
