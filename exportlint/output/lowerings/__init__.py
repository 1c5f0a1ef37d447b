"""What lowerings came to, as tables: the operators of one, and all stages of several targets."""
