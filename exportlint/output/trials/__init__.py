"""What trials saw and what was rewritten in, tables and lists of a report out."""
