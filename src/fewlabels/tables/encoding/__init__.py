"""Preprocessing that travels inside the model: columns in, numbers out."""
