"""One file a stage: a request in, observations and an answer out. No stage imports another."""
