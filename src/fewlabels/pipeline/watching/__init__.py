"""Watching the rows that a model scores: batches of rows, a state that survives, outputs."""
