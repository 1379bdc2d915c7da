"""The time budget of a training, and how many rows fit into it."""
