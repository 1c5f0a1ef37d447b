"""Files in; parsed modules, their classes and functions, and what a name means in them, out. Nothing is run."""
