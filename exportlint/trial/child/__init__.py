"""The processes of a trial, under the interpreter that has torch: requests in, observations and answers out.

Imports the standard library, torch, `exportlint.trial.protocol` and itself, and nothing else.
"""
