"""What forward does in every call in, lines of `__init__` and what reads them out."""
