"""From a file to rows of numbers: whole, in pieces, with what is next to it."""
