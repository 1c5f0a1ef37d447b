"""Abstract interpretation of source files: their text in, what each expression may be out. Knows no rule."""
