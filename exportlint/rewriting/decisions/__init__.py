"""Decisions on data or sizes in, statements that compute every side and select out."""
