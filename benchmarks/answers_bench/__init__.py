"""What ``answers.py`` compares with, and how ranks are compared."""
