"""How lowerings are run, and what they say of a program before they compile it."""
