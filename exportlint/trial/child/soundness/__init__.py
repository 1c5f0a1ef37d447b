"""An exported program and eager in, every difference between them out. One file a check; `checks` lists them."""
