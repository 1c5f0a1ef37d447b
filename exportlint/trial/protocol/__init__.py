"""The data that both sides of a trial exchange: targets in, observations out. Imports the standard library only."""
