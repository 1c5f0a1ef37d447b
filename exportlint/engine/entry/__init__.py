"""A parsed file in; where export enters it, and what the parameters are there before any call is seen, out."""
