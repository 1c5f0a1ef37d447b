"""Observations in, findings out: classified, worded, deduplicated, joined with static suspicions."""
