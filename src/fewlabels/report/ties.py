"""Rows that are the same to a model, which are one line of a list."""

import numpy as np


def first_of_equal(X, order, most):
    """At most so many rows in this order, one for all that are equal, and how many these are.

    Rows are equal where their encoded values are.
    """
    places, first, sizes = {}, [], []
    for place in np.asarray(order):
        row = X[[place]]
        parts = (row,) if isinstance(row, np.ndarray) else (row.indices, row.data)
        key = b"|".join(part.tobytes() for part in parts)
        if key in places:
            sizes[places[key]] += 1
        elif len(first) == most:
            break
        else:
            places[key] = len(first)
            first.append(place)
            sizes.append(1)
    return np.array(first, dtype=int), np.array(sizes, dtype=int)


def alike(sizes):
    """A column that counts the rows that a line means; none where each is one."""
    return {"equal rows": list(map(int, sizes))} if (sizes > 1).any() else {}


def tie_words(sizes):
    """What a text says of lines that represent several rows."""
    return " Rows with the same values share one line." if (sizes > 1).any() else ""
