"""Syntax trees as rules see them: libcst on first use, one walk for all rules, places in the text."""
