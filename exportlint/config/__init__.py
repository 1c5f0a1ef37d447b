"""Settings: `[tool.exportlint]` and the command line in, one checked configuration out."""
