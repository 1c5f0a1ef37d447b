"""Trials: targets in, reports and findings out. Whatever a model does to its process, the run goes on."""
