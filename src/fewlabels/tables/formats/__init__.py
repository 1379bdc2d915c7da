"""Formats of tables: a file each, which gives names of columns and pieces of rows."""
