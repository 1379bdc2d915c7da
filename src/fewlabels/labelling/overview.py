"""What is known of a table so far: estimates, lists, advice, as plain values."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np

from .._typing import FloatArray, IntArray
from ..tables.answers.file import AnswerEntry
from .estimates import Share, advice_on, positives_at, share_of, shares_of
from .finishing import LabelledTable, RowsWithLabels
from .models import LeftOut

_SHOWN = 20
MACHINES = {
    "": "no model yet; the first rows are drawn at random",
    "svdd": "support vector data description (SVDD) of all rows",
    "pusvm": "a positive-unlabelled SVM (PUSVM), because one class has labels",
    "s3vm": "a semi-supervised SVM (S3VM), because two or more classes have labels",
}


class LearnerState(Protocol):
    """State of the model that follows the answers."""

    codes: IntArray
    classes: tuple[int, ...]
    decisions: FloatArray | None
    left_out: LeftOut
    left_out_at: int
    left_out_trained: float
    n_told: int

    @property
    def kind(self) -> str: ...

    @property
    def busy(self) -> bool: ...


class RowsWithKeys(RowsWithLabels, Protocol):
    """Rows of a table, each with a key and a line that describes it."""

    keys: list[str]

    def __len__(self) -> int: ...

    def short(self, row: int) -> str: ...


class LabelledSession(LabelledTable, Protocol):
    """A table that people label, and the model that follows their answers."""

    classes: list[str]
    standing: list[AnswerEntry]

    @property
    def rows(self) -> RowsWithKeys: ...

    @property
    def learner(self) -> LearnerState: ...

    @property
    def random_rows(self) -> list[int]: ...

    @property
    def changed_since(self) -> float | None: ...


def overview(session: LabelledSession, rate: float = 0.1, lists: bool = True) -> dict[str, Any]:
    """Return all figures of a session and, if requested, its lists of rows."""
    learner, codes = session.learner, session.learner.codes
    sample = session.random_rows
    truth = [session.classes[codes[row]] for row in sample]
    error = _error(session, sample)
    changed = session.changed_since
    advice = advice_on(changed, 0 if error is None else error.n, error)
    found = {
        "shares": {k: v.plain() for k, v in shares_of(truth, session.classes).items()},
        "error": None if error is None else error.plain(),
        "error_at": learner.left_out_at,
        "told": learner.n_told,
        "changed": changed,
        "advice": {"stop": advice.stop, "words": advice.words},
        "n_random": len(sample),
        "busy": learner.busy,
        "machine": MACHINES[learner.kind],
    }
    return found | _lists(session, sample, rate) if lists else found


def _error(session: LabelledSession, sample: list[int]) -> Share | None:
    """Estimate the error from the random rows, each scored without its label; None if unknown."""
    learner = session.learner
    if learner.kind != "s3vm" or not learner.left_out:
        return None
    counts = np.bincount(learner.codes[learner.codes >= 0], minlength=len(session.classes))
    wrong = n = 0
    for row in sample:
        code = learner.codes[row]
        if row in learner.left_out:
            n += 1
            wrong += learner.left_out[row][0] != code
        elif counts[code] < 2:  # without it nobody would know the class
            n, wrong = n + 1, wrong + 1
    return share_of(wrong, n, learner.left_out_trained)


def _lists(session: LabelledSession, sample: list[int], rate: float) -> dict[str, Any]:
    learner = session.learner
    lines: dict[str, Any] = {}
    free = np.flatnonzero(learner.codes < 0)

    def listed(rows: Iterable[int]) -> list[dict[str, int | str]]:
        return [{"row": int(row), "text": session.rows.short(int(row))} for row in rows]

    lines["differing"] = _differing(session)
    lines["doubt"], lines["wrong"], lines["positives"] = [], [], None
    if learner.kind != "s3vm":
        return lines
    f = learner.decisions
    assert f is not None
    order = np.argsort(_margins(f)[free])[:_SHOWN]
    lines["doubt"] = listed(free[order])
    contradicted = [
        (float(np.max(np.abs(decisions))), row)
        for row, (code, decisions) in learner.left_out.items()
        if learner.codes[row] >= 0 and code != learner.codes[row]
    ]
    lines["wrong"] = listed([row for _, row in sorted(contradicted, reverse=True)[:_SHOWN]])
    hunted = learner.classes[0]
    sample = [row for row in sample if row in learner.left_out]
    scores = _of_class(f, 0)
    found = positives_at(
        scores,
        free,
        [_of_class(np.asarray(learner.left_out[r][1])[None], 0)[0] for r in sample],
        [learner.codes[r] == hunted for r in sample],
        len(session.rows),
        rate,
    )
    lines["positives"] = {
        "class": session.classes[hunted],
        "rate": rate,
        "count": len(found.rows),
        "why": found.why,
        "rows": listed(found.rows[:_SHOWN]),
    }
    return lines


def _of_class(f: FloatArray, place: int) -> FloatArray:
    """Return scores that are greater for rows of a model's class with this position."""
    return -f if f.ndim == 1 else f[:, place]


def _margins(f: FloatArray) -> FloatArray:
    if f.ndim == 1:
        return np.abs(f)
    best = np.partition(f, -2, axis=1)
    return best[:, -1] - best[:, -2]


def _differing(session: LabelledSession) -> list[dict[str, Any]]:
    """Return the rows to which people gave different labels."""
    said: defaultdict[str, dict[str, tuple[int, str | None]]] = defaultdict(dict)
    for one in session.standing:
        if one.kind == "label":
            said[one.row_key][one.annotator] = (one.row, one.label)
    found = []
    for key, by in said.items():
        if len({label for _, label in by.values()}) > 1:
            row = session.rows.keys.index(key)
            labels = {who: label for who, (_, label) in by.items()}
            found.append({"row": row, "text": session.rows.short(row), "labels": labels})
    return found
