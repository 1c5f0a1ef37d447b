"""The version of exportlint, written once."""

__version__ = "0.1.0"
