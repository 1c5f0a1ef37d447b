"""What ships with exportlint: one flat file a rule."""
