"""An exported program and eager in, every difference between them out. `checks` lists what is looked at."""
