"""Columns of a table: kinds, values, what they tell, and the column of labels."""
