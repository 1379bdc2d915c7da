"""A fit told to a person: what the rows were, what was learnt, how far to trust it."""
