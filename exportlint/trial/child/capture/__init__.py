"""A user's script in, the models that it hands to torch out."""
