"""Baselines on the same rows, and who is ahead."""
