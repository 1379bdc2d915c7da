"""What ``labelling.py`` is made of."""
