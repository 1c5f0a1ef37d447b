"""Word each finding of a trial once: an observation in, its message and its suggestion out."""
