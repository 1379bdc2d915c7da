"""Which rows are the normal ones."""

from __future__ import annotations

from collections import Counter

import numpy as np

from .columns import blank, number_text
from .errors import UserError, listing, plural


def target_text(values):
    """Labels of an npz or svmlight file as the text that a user would type."""
    if values.dtype.kind in "fiub" and values.dtype.kind != "b":
        return np.array([number_text(value) for value in values], dtype=object)
    return np.array([str(value) for value in values], dtype=object)


def normal_rows(values, normal, *, target, source):
    """Choose the training rows by their target.

    Parameters
    ----------
    values : ndarray of str, shape (n,)
        The target of each row.
    normal : str or None
        The value that marks the normal rows; may be left out when there is only one.
    target : str
        Name of the target column, for messages.
    source : path-like
        The file, for messages.

    Returns
    -------
    keep : ndarray of bool, shape (n,)
        The training rows.
    normal : str
        The value that was used.
    notes : list of str
        What the user should know about the rows that are not used.
    """
    empty = blank(values)
    counts = Counter(values[~empty].tolist())
    if not counts:
        raise UserError(
            f"The target column '{target}' of {source} is blank in every row; name the normal "
            "rows in it, or leave out --target to train on all rows."
        )
    shown = ", ".join(f"'{name}' ({count})" for name, count in counts.most_common(10))
    if len(counts) > 10:
        shown += f" and {len(counts) - 10} more"
    if normal is None:
        if len(counts) > 1:
            raise UserError(
                f"The target column '{target}' of {source} has {len(counts)} values: {shown}; say "
                "which one is normal with --normal VALUE."
            )
        normal = next(iter(counts))
    matching = [name for name in counts if _same(name, normal)]
    if not matching:
        raise UserError(
            f"No row of {source} has the normal value '{normal}' in the target column '{target}'; "
            f"its values are {shown}."
        )
    keep = np.isin(values.astype(object), np.array(matching, dtype=object)) & ~empty
    notes = []
    others = [name for name in counts if name not in matching]
    n_others = sum(counts[name] for name in others)
    if n_others:
        notes.append(
            f"{plural(n_others, 'row')} of other classes ({listing(others)}) not used for training"
        )
    if empty.any():
        notes.append(
            f"{plural(int(empty.sum()), 'row')} with a blank target not used for training"
        )
    return keep, normal, notes


def _same(a, b):
    """Equal as text or as numbers, so that ``--normal 1`` finds ``1.0``."""
    if a.strip() == b.strip():
        return True
    try:
        return float(a) == float(b)
    except ValueError:
        return False
