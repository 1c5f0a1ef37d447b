"""A store of sweeps in; pages for a terminal, a repository and a browser, JSON, and tables for other tools, out.

`page` is what a page is made of and how it is told; `charts` draws its plots; `summary`, `comparison` and `judgement`
say what stands on the page of one sweep, of two, and of the static pass beside one; `tables` writes rows of a store.
"""
