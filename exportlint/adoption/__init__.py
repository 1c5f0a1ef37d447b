"""For code that adopts the tool: findings in; those that are new, on changed lines or fatal, and comments, out."""
