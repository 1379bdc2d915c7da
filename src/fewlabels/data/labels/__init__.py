"""Every reader of y: values of a label column in, +1, -1 and 0 out."""
