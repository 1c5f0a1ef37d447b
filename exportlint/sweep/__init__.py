"""Many targets: which there are, which were tried already, where they are tried, and what is kept of each.

A sweep plans (`closure`, `key`), lets an executor try what the store has no result of (`executor`), and keeps each
result as soon as it is there (`store`). What trying is, is given to it: `exportlint.workflow.sweeping` does.
"""
