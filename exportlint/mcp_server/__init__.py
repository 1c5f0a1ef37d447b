"""What agents ask over the Model Context Protocol, and the command line in a process of its own that answers."""
