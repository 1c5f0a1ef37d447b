"""Lists and deques that a module keeps, as registered buffers that say as much."""
