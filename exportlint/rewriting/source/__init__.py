"""What every rewrite is made of: names, calls and statements of a function in, their text in another place out."""
