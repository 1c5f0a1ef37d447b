"""Where export enters a file, and what the parameters there are before any call is seen."""
