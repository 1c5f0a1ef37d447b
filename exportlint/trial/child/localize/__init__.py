"""A refusal or a difference in, the source line that it belongs to out."""
