"""A fit whose rows are not in memory: in a file, or on other computers."""
