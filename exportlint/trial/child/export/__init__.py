"""A loaded target in, an exported program out, or every refusal and graph break with its place."""
