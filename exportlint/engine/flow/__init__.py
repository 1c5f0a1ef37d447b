"""A function in; which statement follows which, who defines what each reads, and what it does besides, out."""
