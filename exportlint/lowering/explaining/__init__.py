"""What a target raises in; why it refuses the program, and what to write instead, out."""
