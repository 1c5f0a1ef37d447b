"""A failure of a trial as a script of its own, that fails in the same way without exportlint."""
