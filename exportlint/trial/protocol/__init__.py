"""The plain data that both sides of a trial speak. It imports the standard library only."""
