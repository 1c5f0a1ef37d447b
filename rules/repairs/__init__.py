"""How to write differently what the rules report: one file a rule, of the same stem."""
