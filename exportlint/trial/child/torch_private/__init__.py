"""What torch keeps to itself, behind one door a kind: its private names in, plain functions and data out.

Nothing else in the trial imports a private module of torch or touches a private attribute of its objects;
`tests/trial/test_torch_private.py` lists every name that these files touch with the torch that it was seen in, so
that a new torch is a matter of that list and of these files.
"""
