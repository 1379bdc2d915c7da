"""Parts of hidden_truth.py: cases and their tables, runs, and the summary."""
