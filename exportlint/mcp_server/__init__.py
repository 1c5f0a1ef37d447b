"""What agents ask over the Model Context Protocol, answered by the command line in a process of its own."""
