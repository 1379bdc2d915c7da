"""What people see of a command: figures, summaries and progress."""
