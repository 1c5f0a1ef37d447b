"""The machine and what is installed in; what works there, what does not, and the command that mends it, out."""
