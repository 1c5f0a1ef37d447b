"""Targets of deployment: which are asked for and how, what of them is kept, and all of them beside all targets."""
