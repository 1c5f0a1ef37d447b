"""Many targets in, each result in one file out, tried here or on a Ray cluster; what changed between two sweeps.

A sweep plans (`closure`, `key`), lets an executor try what the store has no result of (`executor`), and keeps each
result as soon as it is there (`store`). What trying is, is given to it: `exportlint.workflow.sweeping` does.
"""
