"""Attributes that calls write in, registered buffers or variables of one call out."""
