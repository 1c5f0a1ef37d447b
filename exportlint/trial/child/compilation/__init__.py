"""A model in, what torch.compile does with it out: breaks of the graph, recompilations, other results, time."""
