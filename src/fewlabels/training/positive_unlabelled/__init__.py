"""Training of positive-unlabelled machines: from rows and settings to functions."""
