"""Training of positive-unlabelled models: from rows and settings to functions."""
