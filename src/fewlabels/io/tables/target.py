"""What a column of labels says: which rows are learnt from, and as what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..errors import UserError, listing, plural
from .columns import blank, number_text

# How a class that is not the one sought is usually written.
_NEGATIVE = frozenset({"false", "no", "negative"})


@dataclass(frozen=True)
class Labels:
    """Values of a target column, counted.

    ``names`` are the values, most frequent first ("1" and "1.0" are one), ``counts`` the rows of
    each, ``index`` the position in ``names`` of each row's value, -1 for blank ones. ``mark``
    counts as blank beside those that are.
    """

    column: str
    source: Path
    names: list[str]
    counts: list[int]
    index: np.ndarray
    mark: str = ""

    @property
    def n_blank(self):
        """Rows without a value."""
        return int(np.count_nonzero(self.index < 0))

    @property
    def where(self):
        """The column, for messages."""
        return f"The target column '{self.column}' of {self.source}"

    def shown(self, limit=10):
        """Values with their counts, for messages."""
        pairs = list(zip(self.names, self.counts, strict=True))
        text = ", ".join(f"'{name}' ({count})" for name, count in pairs[:limit])
        return text if len(pairs) <= limit else f"{text} and {len(pairs) - limit} more"

    def find(self, wanted, role):
        """Position of a value that the user typed."""
        key = value_key(wanted)
        for position, name in enumerate(self.names):
            if value_key(name) == key:
                return position
        raise UserError(
            f"No row of {self.source} has the {role} value '{wanted}' in the target column "
            f"'{self.column}'; its values are {self.shown()}."
        )

    def with_mark(self, mark):
        """The same labels where a value counts as blank."""
        marked = self.find(mark, "unlabelled")
        left = [k for k in range(len(self.names)) if k != marked]
        place = np.full(len(self.names) + 1, -1)  # the last one is that of blanks
        place[left] = np.arange(len(left))
        return replace(
            self,
            names=[self.names[k] for k in left],
            counts=[self.counts[k] for k in left],
            index=place[self.index],
            mark=self.names[marked],
        )


class Roles(NamedTuple):
    """Which rows are learnt from, and as what.

    ``keep`` are the training rows, ``y`` the labels of all rows for machines that take any,
    ``facts`` what the model keeps of the choice. ``needed`` are labels that must be among the
    training rows, and how they are called in a sentence.
    """

    keep: np.ndarray
    y: np.ndarray | None
    facts: dict[str, Any]
    notes: list[str]
    needed: Mapping[int, str] = MappingProxyType({})


def target_text(values):
    """Labels of an npz or svmlight file as the text that a user would type."""
    if values.dtype.kind in "fiu":
        return np.array([number_text(value) for value in values], dtype=object)
    return np.array([str(value) for value in values], dtype=object)


def count_labels(values, *, column, source):
    """Count the values of a target; its name and the file are for messages."""
    import pandas as pd

    codes, texts = pd.factorize(np.asarray(values, dtype=object))
    n_rows = np.bincount(codes, minlength=len(texts))
    is_blank = blank(texts)
    classes = {}
    for code in np.argsort(-n_rows, kind="stable"):
        if not is_blank[code]:
            classes.setdefault(value_key(texts[code]), []).append(int(code))
    members = sorted(classes.values(), key=lambda group: -int(n_rows[group].sum()))
    position = np.full(len(texts), -1)
    for k, group in enumerate(members):
        position[group] = k
    return Labels(
        column=column,
        source=source,
        names=[texts[group[0]].strip() for group in members],
        counts=[int(n_rows[group].sum()) for group in members],
        index=position[codes],
    )


def every_row(n_rows):
    """All rows, as one class."""
    return Roles(np.ones(n_rows, dtype=bool), None, {"normal": None}, [])


def normal_rows(labels, normal=None):
    """Choose the rows of one class; with one value only it need not be named."""
    if not labels.names:
        raise UserError(
            f"{labels.where} is blank in every row; name the normal rows in it, or leave out "
            "--target to train on all rows."
        )
    if normal is None:
        if len(labels.names) > 1:
            raise UserError(
                f"{labels.where} has {len(labels.names)} values: {labels.shown()}; say which one "
                "is normal with --normal VALUE."
            )
        chosen = 0
    else:
        chosen = labels.find(normal, "normal")
    notes = []
    others = [name for k, name in enumerate(labels.names) if k != chosen]
    n_others = sum(labels.counts) - labels.counts[chosen]
    if n_others:
        notes.append(
            f"{plural(n_others, 'row')} of other classes ({listing(others)}) not used for training"
        )
    if labels.n_blank:
        notes.append(f"{plural(labels.n_blank, 'row')} with a blank target not used for training")
    normal = labels.names[chosen] if normal is None else normal
    return Roles(labels.index == chosen, None, {"normal": normal}, notes)


def positive_rows(labels, positive=None):
    """Tell positive rows from unlabelled ones.

    The target has one class and blanks, or two values of which one marks the unlabelled rows. The
    positive class need not be named with one class and blanks, nor with two numbers, of which
    the greater one is positive.
    """
    if not labels.names:
        raise UserError(
            f"{labels.where} is blank in every row; name the rows in it that are known to be "
            "positive."
        )
    chosen = _only_choice(labels) if positive is None else labels.find(positive, "positive")
    name = labels.names[chosen]
    marks = [other for k, other in enumerate(labels.names) if k != chosen]
    if labels.n_blank:
        marks.append(labels.mark)
    if not marks:
        raise UserError(
            f"{labels.where} is '{name}' in every row, and a positive-unlabelled machine needs "
            "rows of unknown class; leave their target blank, or pass --machine svdd to learn "
            "from one class."
        )
    if len(marks) > 1:
        blanks = f" and {labels.n_blank} blanks" if labels.n_blank else ""
        raise UserError(
            f"{labels.where} has {labels.shown()}{blanks}, but beside '{name}' there can be one "
            "mark of unlabelled rows only; blank them all, and leave out rows that are known "
            "to be negative."
        )
    is_positive = labels.index == chosen
    facts = {"positive": name, "unlabeled": marks[0]}
    needed = {1: "positive", 0: "unlabelled"}
    y = is_positive.astype(np.int8)
    return Roles(np.ones(len(y), dtype=bool), y, facts, [], needed)


def class_rows(labels):
    """Tell the rows of two classes from each other, and from unlabelled ones.

    The labels are 0 and 1 for the classes and -1 for unlabelled rows. Class 1 is the
    greater of two numbers, True beside False, else the later one in the alphabet.
    """
    if len(labels.names) != 2:
        found = f"has {plural(len(labels.names), 'value')}"
        if labels.names:
            found += f": {labels.shown()}"
        raise UserError(
            f"{labels.where} {found}, but a semi-supervised machine tells two classes apart; name "
            "both in some rows and leave it blank in the others, or say which value marks rows "
            "of unknown class with --unlabeled VALUE."
        )
    second = greater_value(labels)
    if second is None:
        second = int(labels.names[1] > labels.names[0])
    y = np.where(labels.index < 0, -1, labels.index == second).astype(np.int8)
    classes = [labels.names[1 - second], labels.names[second]]
    facts = {"classes": classes, "unlabeled": labels.mark}
    needed = {k: f"of class '{name}'" for k, name in enumerate(classes)}
    return Roles(np.ones(len(y), dtype=bool), y, facts, [], needed)


def greater_value(labels):
    """Position of the greater of two numbers, or of True beside False; None for other texts."""
    if {value_key(name) for name in labels.names} == {"True", "False"}:
        return labels.names.index("True")
    values = [_number(name) for name in labels.names]
    if len(values) != 2 or None in values:
        return None
    return int(np.argmax(values))


def _only_choice(labels):
    """Position of the class that can only be the positive one."""
    if len(labels.names) == 1:
        name = labels.names[0]
        number = _number(name)
        if labels.n_blank and (name.lower() in _NEGATIVE or (number is not None and number <= 0)):
            raise UserError(
                f"{labels.where} holds '{name}' and blanks, and '{name}' usually marks negatives; "
                f"pass --positive {name} if it is the class to look for, or --normal {name} to "
                "learn that class alone."
            )
        return 0
    chosen = greater_value(labels)
    if chosen is None:
        raise UserError(
            f"{labels.where} has {len(labels.names)} values: {labels.shown()}; say which one is "
            "positive with --positive VALUE."
        )
    return chosen


def value_key(text):
    """The same for texts that are one value: "1" and "1.0", " a" and "a"."""
    number = _number(text)
    return text.strip() if number is None else number


def _number(text):
    try:
        # Python reads 1_000, which no other program would.
        return float(text) if "_" not in text else None
    except ValueError:
        return None
