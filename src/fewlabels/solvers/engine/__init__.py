"""Block decomposition over rows that answer messages of the size of a working set."""
