"""Files in, parsed modules with their classes, functions and imports out; nothing is imported or run."""
