"""What stands around a node in, what may be said of its value, its errors and its effects out."""
