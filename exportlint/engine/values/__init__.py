"""The abstract domain: what an expression may be, and what operators and library calls make of that."""
