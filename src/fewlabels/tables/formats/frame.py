"""Data frames in memory."""


def names(source):
    """Names of the columns."""
    return source.content.column_names


def pieces(source, names, rows, types):
    """The table as a whole."""
    yield source.content, None, 1.0
