"""One file a command; `command` in it is what click runs. Imported only when the command is called."""
