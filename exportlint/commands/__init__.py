"""One file a command of the command line: options in, a printed report and an exit code out."""
