"""What commands and the Python API share: files and targets in, a report out."""
