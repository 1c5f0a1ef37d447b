"""An export in, which sizes its program takes out: what torch fixed or narrowed and where, what to declare."""
