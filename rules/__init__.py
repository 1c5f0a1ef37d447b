"""The rules that ship with exportlint, one file each: a piece of code in, suspicions out."""
