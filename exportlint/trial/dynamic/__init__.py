"""Which sizes an exported program takes: what torch fixed or narrowed and where, what to declare. Runs in the child."""
