"""Tables in: columns, kinds, features and labels."""
