"""The page: elements, style, pictures and words."""
