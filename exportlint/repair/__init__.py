"""The court: findings with rewrites in; edited files, of which a trial showed that they are better, out."""
