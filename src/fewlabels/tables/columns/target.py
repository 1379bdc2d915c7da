"""What a column of labels says: which rows are learned from, and as what."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, Self

import numpy as np

from ..._typing import AnyArray, BoolArray, IntArray, ObjectArray
from ..._util.messages import UserError, listing, plural, quoted, ref
from ...data.labels.blanks import is_blank, reads_as_blank
from ..names import misspelling, parse_number, value_key
from .column import are_blank, format_number

# How a class that is not the one sought is usually written.
_NEGATIVE = frozenset({"false", "no", "negative"})
# A misspelt value has at most this many rows, or this share of the rows of the value meant.
_MAX_MISSPELT_ROWS = 2
_MAX_MISSPELT_SHARE = 0.05
# The value meant has at least so many times as many rows.
_MIN_ROW_RATIO = 5
# More values than this are hardly classes, and are not compared.
_MAX_COMPARED_VALUES = 200


class Misspelling(NamedTuple):
    """A value that may be ``usual``, of ``n_usual`` rows, with a typing error of a ``kind``."""

    name: str
    usual: str
    kind: str
    n_usual: int


@dataclass(frozen=True)
class Labels:
    """Values of a target column, counted: names, most frequent first, and their rows.

    "1" and "1.0" are one value, and so are "No" and "no" where ``merge_case`` says so. ``index``
    is the position in ``names`` of each row's value, -1 for blank ones; ``mark`` counts as
    blank next to those that are.
    """

    column: str
    source: object
    names: list[str]
    counts: list[int]
    index: IntArray
    mark: str = ""
    merge_case: bool = False

    @property
    def n_blank(self) -> int:
        return int(np.count_nonzero(self.index < 0))

    @property
    def where(self) -> str:
        return f"The target column {quoted(self.column)} of {self.source}"

    def list_values(self) -> str:
        pairs = zip(self.names, self.counts, strict=True)
        text = ", ".join(f"{quoted(name)} ({count})" for name, count in list(pairs)[:10])
        return text if len(self.names) <= 10 else f"{text} and {len(self.names) - 10} more"

    @cached_property
    def misspelt(self) -> list[Misspelling]:
        """Rare values that differ by a typing error from a frequent one, each once.

        The most frequent value counts if there are several, and sure errors before doubtful ones.
        """
        values = list(zip(self.names, self.counts, strict=True))
        marks = [(self.mark, self.n_blank)] if self.mark else []
        found = []
        for name, n in values if len(values) <= _MAX_COMPARED_VALUES else ():
            usual = [
                Misspelling(name, other, misspelling(name, other), m)
                for other, m in [*values, *marks]
                if n <= max(_MAX_MISSPELT_ROWS, _MAX_MISSPELT_SHARE * m)
                and _MIN_ROW_RATIO * n <= m
            ]
            alike = [one for one in usual if one.kind]
            found += sorted(alike, key=lambda one: (one.kind != "slip", -one.n_usual))[:1]
        return found

    def describe_misspelt(self) -> str:
        """Describe the first misspelt values, each with its rows and the value that was meant."""
        words = []
        for name, usual, kind, n in self.misspelt[:3]:
            places = np.flatnonzero(self.index == self.names.index(name)) + 1
            rows = f"row{'s' * (len(places) > 1)} {', '.join(map(str, places[:3]))}"
            rows += f" and {len(places) - 3} more" * (len(places) > 3)
            likely = "is probably" if kind == "slip" else "may be"
            words.append(
                f"{quoted(name)} ({rows}) {likely} a misspelt {quoted(usual)} ({plural(n, 'row')})"
            )
        return " and ".join(words)

    def find(self, typed_value: str, role: str) -> int:
        """Return the position of a value that the user typed."""
        if reads_as_blank(typed_value):
            raise UserError(
                f"{quoted(typed_value)} can't be the {role} value of the target column "
                f"{quoted(self.column)}, because it reads as a blank; pass one of its values, "
                f"{self.list_values()}."
            )
        keys = [value_key(name, self.merge_case) for name in self.names]
        typed_key = value_key(typed_value, self.merge_case)
        if typed_key not in keys:
            raise UserError(
                f"No row of {self.source} has the {role} value {quoted(typed_value)} in the "
                f"target column {quoted(self.column)}; its values are {self.list_values()}."
            )
        return keys.index(typed_key)

    def with_mark(self, mark: str) -> Self:
        """Return the labels with one value counted as blank."""
        if reads_as_blank(mark) and self.n_blank:
            return self
        marked = self.find(mark, "unlabelled")
        names, counts = [*self.names], [*self.counts]
        mark = names.pop(marked)
        counts.pop(marked)
        index = np.where(self.index == marked, -1, self.index - (self.index > marked))
        return replace(self, names=names, counts=counts, index=index, mark=mark)


class RowSelection(NamedTuple):
    """Training rows, labels of all rows for models that take any, facts for the model.

    ``needed`` are labels that must be among the training rows, and what they are called.
    """

    keep: BoolArray
    y: IntArray | None
    facts: dict[str, Any]
    notes: list[str]
    needed: dict[int, str]

    def label_codes(self, labels: Labels | None) -> IntArray | None:
        """Return the codes of all rows' labels, -1 for none; None without any labels."""
        if self.y is None:
            return None if labels is None else labels.index
        return np.where(self.y == 1, 0, -1) if "positive" in self.facts else self.y


def target_as_text(values: AnyArray) -> ObjectArray:
    """Return the labels of an npz or svmlight file as the text that a user would type."""
    as_text = format_number if values.dtype.kind in "fiu" else str
    texts, known = np.full(len(values), "", dtype=object), ~is_blank(values)
    distinct, where = np.unique(values[known], return_inverse=True)
    texts[known] = np.array([as_text(value) for value in distinct], dtype=object)[where]
    return texts


def count_labels(
    values: ObjectArray, *, column: str, source: object, merge_case: bool | None = None
) -> Labels:
    """Count the values of a target; its name and the file are for messages.

    Values that differ in case, spaces or Unicode form only are one if ``merge_case``, refused if
    it is None.
    """
    import pandas as pd

    codes, texts = pd.factorize(np.asarray(values, dtype=object))
    n_rows = np.bincount(codes, minlength=len(texts))
    is_blank = are_blank(texts)
    classes: dict[str | float, list[int]] = {}
    for code in np.argsort(-n_rows, kind="stable"):
        if not is_blank[code]:
            key = value_key(texts[code], bool(merge_case))
            classes.setdefault(key, []).append(int(code))
    members = sorted(classes.values(), key=lambda group: -int(n_rows[group].sum()))
    position = np.full(len(texts), -1)
    for k, group in enumerate(members):
        position[group] = k
    names = [texts[group[0]].strip() for group in members]
    counts = [int(n_rows[group].sum()) for group in members]
    labels = Labels(column, source, names, counts, position[codes], merge_case=bool(merge_case))
    if merge_case is None:
        _refuse_case_variants(labels)
    return labels


def _refuse_case_variants(labels: Labels) -> None:
    """Refuse values that are perhaps one, written in several ways."""
    alike: dict[str | float, list[str]] = {}
    for name, count in zip(labels.names, labels.counts, strict=True):
        alike.setdefault(value_key(name, True), []).append(f"{quoted(name)} ({count})")
    for found in alike.values():
        if len(found) > 1:
            raise UserError(
                f"{labels.where} has values that differ only in case, spaces or Unicode form: "
                f"{' and '.join(found)}; pass {ref('merge_case', True)} if they are one class, or "
                f"{ref('merge_case', False)} if they are not."
            )


def refuse_misspelt(labels: Labels) -> None:
    """Refuse typing errors that alone make several classes of one."""
    sure = [one for one in labels.misspelt if one.kind == "slip"]
    if sure and len(sure) == len(labels.names) - 1:
        raise UserError(
            f"{labels.where} has {plural(len(labels.names), 'value')}, but "
            f"{labels.describe_misspelt()}; correct the cell{'s' * (len(sure) > 1)}, or pass "
            f"{ref('method', 's3vm')} if these are different classes."
        )


def _describe_doubts(labels: Labels) -> dict[str, str]:
    """Return a fact for the model, which describes values that may be misspelt, if any are."""
    words = labels.describe_misspelt()
    if not words:
        return {}
    is_one = len(labels.misspelt) == 1
    what = "it counts as another value" if is_one else "they count as other values"
    return {"misspelt": f"{labels.where} may have typing errors: {words}; {what} until corrected"}


def choose_all_rows(n_rows: int) -> RowSelection:
    """Choose all rows, as one class."""
    return RowSelection(np.ones(n_rows, dtype=bool), None, {"normal": None}, [], {})


def choose_normal_rows(labels: Labels, normal: str | None = None) -> RowSelection:
    """Choose the rows of one class; with one value only it need not be named."""
    if not labels.names:
        raise UserError(
            f"{labels.where} is blank in every row; label the normal rows, or omit "
            f"{ref('target')} to train on all rows."
        )
    if normal is None and len(labels.names) > 1:
        raise UserError(
            f"{labels.where} has {len(labels.names)} values: {labels.list_values()}; pass the "
            f"normal one as {ref('normal', some='VALUE')}."
        )
    chosen = 0 if normal is None else labels.find(normal, "normal")
    notes = []
    others = [name for k, name in enumerate(labels.names) if k != chosen]
    n_others = sum(labels.counts) - labels.counts[chosen]
    if n_others:
        notes.append(
            f"{plural(n_others, 'row')} of other classes ({listing(others)}) not used for training"
        )
    if labels.n_blank:
        notes.append(f"{plural(labels.n_blank, 'row')} with a blank target not used for training")
    facts = {"normal": labels.names[0] if normal is None else normal, **_describe_doubts(labels)}
    return RowSelection(labels.index == chosen, None, facts, notes, {})


def choose_positive_rows(labels: Labels, positive: str | None = None) -> RowSelection:
    """Choose positive and unlabelled rows: a class and blanks, or two values.

    The class need not be named next to blanks, nor with two numbers: the greater one is positive.
    """
    if not labels.names:
        raise UserError(f"{labels.where} is blank in every row; label the known positive rows.")
    chosen = _choose_positive(labels) if positive is None else labels.find(positive, "positive")
    name = labels.names[chosen]
    marks = [other for k, other in enumerate(labels.names) if k != chosen]
    if labels.n_blank:
        marks.append(labels.mark)
    if not marks:
        raise UserError(
            f"{labels.where} is {quoted(name)} in every row, but a positive-unlabelled model "
            f"needs unlabelled rows; leave their target blank, or pass {ref('method', 'svdd')} "
            "for a one-class model."
        )
    if len(marks) > 1:
        blanks = f" and {labels.n_blank} blanks" if labels.n_blank else ""
        slips = labels.describe_misspelt()
        advice = f"correct the values ({slips}), or " if slips else ""
        raise UserError(
            f"{labels.where} has {labels.list_values()}{blanks}, but only one other value can "
            f"mark unlabelled rows; {advice}make them all blank, and drop known negatives."
        )
    y = (labels.index == chosen).astype(np.int8)
    facts = {"positive": name, "unlabeled": marks[0], **_describe_doubts(labels)}
    needed = {1: "positive", 0: "unlabelled"}
    return RowSelection(np.ones(len(y), dtype=bool), y, facts, [], needed)


def choose_class_rows(labels: Labels, single_class_method: str = "pu-ensemble") -> RowSelection:
    """Choose the rows of classes 0, 1, ... and unlabelled rows, -1.

    Classes are in the order of their numbers, False before True, else in alphabetical order.
    One class and blanks are for the model ``single_class_method``.
    """
    if len(labels.names) < 2:
        shown = f": {labels.list_values()}" if labels.names else ""
        raise UserError(
            f"{labels.where} has {plural(len(labels.names), 'value')}{shown}, but a "
            "semi-supervised model needs two or more classes; label some rows of each class and "
            "leave the others blank, or pass the value that marks unlabelled rows as "
            f"{ref('unlabeled', some='VALUE')}."
            + (
                f" One class and blanks are for {ref('method', single_class_method)}."
                if labels.names
                else ""
            )
        )
    numbers = [n for n in map(parse_number, labels.names) if n is not None]
    are_numbers = len(numbers) == len(labels.names) and not np.isnan(numbers).any()
    keys: Sequence[Any] = numbers if are_numbers else labels.names
    order = sorted(range(len(keys)), key=lambda k: keys[k])
    place = np.full(len(order) + 1, -1)  # the last one is for blanks
    place[order] = np.arange(len(order))
    kind: type[np.signedinteger[Any]] = np.int8 if len(order) < 100 else np.int64
    y = place[labels.index].astype(kind)
    classes = [labels.names[k] for k in order]
    facts = {"classes": classes, "unlabeled": labels.mark, **_describe_doubts(labels)}
    needed = {k: f"of class {quoted(name)}" for k, name in enumerate(classes)}
    return RowSelection(np.ones(len(y), dtype=bool), y, facts, [], needed)


def find_greater_value(labels: Labels) -> int | None:
    """Return the position of the greater of two numbers, or of True next to False, else None."""
    if {value_key(name) for name in labels.names} == {"True", "False"}:
        return labels.names.index("True")
    values = [n for n in map(parse_number, labels.names) if n is not None]
    return int(np.argmax(values)) if len(values) == len(labels.names) == 2 else None


def _choose_positive(labels: Labels) -> int:
    """Return the position of the only class that can be the positive one."""
    chosen = find_greater_value(labels) if len(labels.names) > 1 else 0
    if chosen is None:
        raise UserError(
            f"{labels.where} has {len(labels.names)} values: {labels.list_values()}; pass the "
            f"positive one as {ref('positive', some='VALUE')}."
        )
    name = labels.names[0]
    number = parse_number(name)
    value = name if number is None else number
    negative = name.lower() in _NEGATIVE or (number is not None and number <= 0)
    if len(labels.names) == 1 and labels.n_blank and negative:
        raise UserError(
            f"{labels.where} holds {quoted(name)} and blanks, and {quoted(name)} usually marks "
            f"negatives; pass {ref('positive', value)} if it is the class to look for, or "
            f"{ref('normal', value)} to train on that class only."
        )
    return chosen


def make_target_key(training: Mapping[str, Any]) -> Callable[[str], str | float]:
    """Return the function that gives texts of a model's target the same key if they are one value.

    ``training`` is what the model file says of the training.
    """
    return partial(value_key, merge_case=training.get("merge_case", False))
