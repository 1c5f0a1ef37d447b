"""What a rule file sees: a piece of code with the engine's beliefs in, suspicions out."""
