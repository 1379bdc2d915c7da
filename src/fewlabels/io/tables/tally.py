"""Counting the cells that cannot be used, so that one message can tell them all."""

from __future__ import annotations

import numpy as np

from ..errors import UserError, plural

# Squares of larger numbers, and sums of squares, could overflow.
_LARGEST = {np.dtype(np.float64): 1e150, np.dtype(np.float32): 1e15}


def usable(values):
    """Whether all values are numbers of a size that can be computed with; no copy is made."""
    if not values.size:
        return True
    largest = _LARGEST[values.dtype]
    return bool(values.max() <= largest and values.min() >= -largest)


class Tally:
    """Missing, infinite and huge numbers by column, over one or many pieces of the data.

    Rows with missing numbers are left out with ``skip_missing`` (``option`` asks for it, in the
    message), else refused or filled in: ``filled`` counts these by column.
    """

    def __init__(self, source, skip_missing=False, option="--skip-missing"):
        self.option = option
        self.source = source
        self.skip_missing = skip_missing
        self.missing = {}
        self.infinite = {}
        self.filled = {}
        self.first_missing = None
        self.first_infinite = None

    def add(self, name, values, row_numbers, fill=False):
        """Count the cells of a column; returns which of its rows cannot be used for want of it.

        ``row_numbers`` are those of the file, from 1; ``fill``: the model fills in missing
        numbers.
        """
        missing = np.isnan(values)
        if fill and not self.skip_missing:
            if missing.any():
                self.filled[name] = self.filled.get(name, 0) + int(missing.sum())
            missing = np.zeros(len(values), dtype=bool)
        if missing.any():
            self.missing[name] = self.missing.get(name, 0) + int(missing.sum())
            first = int(row_numbers[missing.argmax()])
            self.first_missing = min(self.first_missing or first, first)
        infinite = np.abs(values) > _LARGEST[values.dtype]
        if infinite.any():
            self.infinite[name] = self.infinite.get(name, 0) + int(infinite.sum())
            first = int(row_numbers[infinite.argmax()])
            self.first_infinite = min(self.first_infinite or first, first)
        return missing

    @property
    def refuses(self):
        """Whether something was found that ends the command."""
        return bool(self.infinite) or (bool(self.missing) and not self.skip_missing)

    def check(self):
        """Raise when something was found that ends the command."""
        if self.missing and not self.skip_missing:
            raise UserError(
                f"{_found(self.missing, 'missing', self.source, self.first_missing)}; fill "
                f"them in, or pass {self.option} to leave out the rows that have them."
            )
        if self.infinite:
            found = _found(
                self.infinite, "infinite or too large", self.source, self.first_infinite
            )
            raise UserError(f"{found}; correct them.")


def filled_words(filled):
    """What to say of missing numbers that were filled in, by column."""
    total = sum(filled.values())
    return f"{plural(total, 'missing number')} filled in with the median ({_shown(filled)})"


def unseen_words(unseen):
    """What to say of categories that the model does not know, by column."""
    counts = ", ".join(f"{count} in '{name}'" for name, count in unseen.items())
    return (
        "some categories do not occur in the training rows and count as none of them (rows: "
        f"{counts})"
    )


def _found(counts, what, source, first):
    total = sum(counts.values())
    verb = "is" if total == 1 else "are"
    return (
        f"{plural(total, 'value')} in {plural(len(counts), 'column')} of {source} {verb} "
        f"{what} ({_shown(counts)}; first in row {first})"
    )


def _shown(counts):
    shown = [f"'{name}': {count}" for name, count in list(counts.items())[:8]]
    if len(counts) > 8:
        shown.append(f"and {len(counts) - 8} more")
    return ", ".join(shown)
