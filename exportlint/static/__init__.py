"""The static pass: files in, findings out, in milliseconds and without torch."""
