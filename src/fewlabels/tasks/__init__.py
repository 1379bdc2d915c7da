"""What can be learnt from a table: the tasks, and the methods for each of them."""
