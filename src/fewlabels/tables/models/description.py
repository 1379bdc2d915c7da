"""The description in a model file, and the check of its values.

Model files aren't signed, so every value that is used later is checked first. Keys that aren't
listed here are ignored.
"""

import json
import math
from dataclasses import is_dataclass
from types import UnionType
from typing import (
    Any,
    Required,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from ..columns.schema import Schema

# Kinds of columns.
_KINDS = {"number", "category", "boolean", "date", "text"}


class _Interval(TypedDict, total=False):
    """A share or rate with its interval."""

    low: Required[float | None]
    high: Required[float | None]


class _ClassShare(_Interval):
    share: Required[float | None]


class _Rate(_Interval):
    value: Required[float | None]


class _ClassShares(TypedDict, total=False):
    weighted: bool
    classes: dict[str, _ClassShare]


class _Signal(TypedDict, total=False):
    """The test whether features predict the labels."""

    area: Required[float]
    low: Required[float]
    high: Required[float]
    found: Required[bool]
    best: float | None
    headline: str
    caution: str


class _LabelTest(TypedDict, total=False):
    """The test whether labels are a random sample."""

    rejected: bool | None
    outcome: Required[str]
    why: str
    shift: float
    caution: str


class _LabelledRows(TypedDict, total=False):
    unlike: bool
    caution: str | None


class _Tuning(TypedDict, total=False):
    """The search for settings."""

    candidates: Required[int]
    scored: Required[int]
    fits: Required[int]
    seconds: Required[float]
    fit_seconds: Required[float]
    stopped: Required[str | None]


class _Baselines(TypedDict, total=False):
    measure: str | None
    verdict: str | None
    caution: str | None
    instead: str | None


# A method of the user's own; one of its keys is a word of Python.
_Candidate = TypedDict(
    "_Candidate", {"task": str, "class": str, "package": str, "version": str | None}
)


class _Delivery(TypedDict, total=False):
    sentence: str | None
    candidate: _Candidate | None


class _Budget(TypedDict, total=False):
    seconds: float | None
    spent: dict[str, float]


class _Updates(TypedDict, total=False):
    count: Required[int]
    rows: Required[int]
    last: Required[str]


class _Training(TypedDict, total=False):
    """Data, counts and figures of a fit; a model that Python saved has few of them."""

    data: str
    choice: str | None
    settings: str | None
    odd_rows: str | None
    rows_read: int
    rows: int
    rows_held: bool
    target: str | None
    clean: bool | None
    merge_case: bool | None
    normal: str | None
    positive: str
    unlabeled: str | None
    classes: list[str]
    misspelt: str | None
    support_vectors: int | None
    support_vectors_unlabeled: int | None
    objective: float | None
    duality_gap: float | None
    violation: float | None
    rounds: int
    iterations: int
    converged: bool
    seconds: float
    seconds_in_all: float
    consolidation_due: bool | None
    in_pieces: bool | None
    target_fpr: float | None
    calibration_rows: int
    radius: float | None
    lam: float | None
    rows_outside: int
    rows_counted: int
    rows_labeled: int | dict[str, int]
    rows_unlabeled: int
    unlabeled_predicted: dict[str, int] | None
    unlabeled_predicted_positive: int | None
    prior: float | None
    prior_used: float | None
    prior_low: float | None
    prior_high: float | None
    prior_estimated: bool
    prior_confidence: float | None
    prior_contradiction: str | None
    weighted_by_propensities: bool
    signal: _Signal | None
    labels_at_random: _LabelTest | None
    labelled_rows: _LabelledRows | None
    class_shares: _ClassShares | None
    expected: dict[str, _Rate] | None
    tuning: _Tuning | None
    baselines: _Baselines | None
    delivered: _Delivery | None
    budget: _Budget | None
    updates: _Updates
    profile: list[dict[str, Any]]
    notes: list[str]


class _Description(TypedDict):
    """The whole description."""

    created: str
    versions: dict[str, str]
    method: str
    parameters: dict[str, str | float | bool | None]
    schema: dict[str, Any]
    training: _Training


def check_description(metadata: dict[str, Any]) -> None:
    """Raise a ``TypeError`` or ``ValueError`` where a description isn't one of a model."""
    json.dumps(metadata, allow_nan=False)  # no key may hold what no model file has
    if not _has_type(metadata, _Description):
        raise TypeError("description")
    training, schema = metadata["training"], Schema.from_dict(metadata["schema"])
    if not _has_type(schema, Schema):
        raise TypeError("schema")
    if schema.layout not in ("table", "dense", "sparse") or schema.n_columns < 0:
        raise ValueError("schema")
    if any(
        c.kind not in ("number", "category", "boolean", "date", "text") for c in schema.columns
    ):
        raise ValueError("kinds of columns")
    names = [*training.get("classes", ()), *schema.names(), *schema.dates]
    names += [training.get(name) or "" for name in ("target", "normal", "positive", "unlabeled")]
    "".join(names).encode()  # a ``UnicodeEncodeError`` where half of a character is among them
    counts = ("rows", "rows_read", "rows_unlabeled", "rows_counted", "calibration_rows")
    if any(training.get(name, 0) < 0 for name in counts):
        raise ValueError("counts of rows")
    rate = training.get("target_fpr")
    if rate is not None and not 0 < rate < 1:
        raise ValueError("target_fpr")


def _has_type(value: Any, kind: Any) -> bool:
    """Return whether a value has a type, as deep as the type goes; an int is a float, too."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(_has_type(value, one) for one in inner)
    if origin in (list, tuple):  # of any length
        return isinstance(value, origin) and all(_has_type(one, inner[0]) for one in value)
    if origin is dict:
        return isinstance(value, dict) and all(_has_type(one, inner[1]) for one in value.values())
    if is_typeddict(kind):
        return (
            isinstance(value, dict)
            and kind.__required_keys__ <= value.keys()
            and _have_types(value, kind)
        )
    if isinstance(kind, type) and is_dataclass(kind):
        return isinstance(value, kind) and _have_types(vars(value), kind)
    if kind is Any or isinstance(value, bool):
        return kind in (Any, bool)
    if kind in (int, float):
        return isinstance(value, int | kind) and _is_finite(value)
    return isinstance(value, kind)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer of hundreds of digits
        return False


def _have_types(values: dict[str, Any], kind: type) -> bool:
    """Return whether values have the types that a class gives them; others are passed over."""
    hints = get_type_hints(kind)
    return all(_has_type(one, hints[name]) for name, one in values.items() if name in hints)
