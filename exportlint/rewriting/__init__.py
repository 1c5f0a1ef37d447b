"""What repairs share: a piece of code with the engine's beliefs in, its text as export takes it out."""
