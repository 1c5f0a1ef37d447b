"""What editors ask over the Language Server Protocol: findings while a file is typed, what is believed, and trials."""
