"""Try rewrites of source before they are offered."""
