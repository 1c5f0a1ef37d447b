"""What stands around a node in, what may be said of its value and its errors out."""
