"""Loops whose number of steps or whose end data decides in, operators over all rows out."""
