"""The abstract domain: values of operands and arguments in, what operators and library calls make of them out."""
