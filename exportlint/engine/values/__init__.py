"""The abstract domain: values in, what operators, sizes and calls of libraries make of them out."""
