"""Scores of rows that a model was not trained on, and what can be concluded from them."""
