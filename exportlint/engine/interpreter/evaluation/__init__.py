"""An expression and what the names in it are in; its value out. One file for each sort of expression."""
