"""Figures on a table so far: estimates, lists, advice, as plain values."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np

from .._typing import FloatArray, IntArray
from ..tables.answers.file import AnswerEntry
from .estimates import Share, advise_stopping, estimate_share, estimate_shares, list_positives
from .model_fit import LabelledTable, RowsWithLabels
from .models import LeftOut

_MAX_ROWS_LISTED = 20
MODEL_DESCRIPTIONS = {
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
    left_out_predictions: LeftOut
    n_answers_at_left_out: int
    n_labels_of_left_out: float
    n_answers: int

    @property
    def kind(self) -> str: ...

    @property
    def is_busy(self) -> bool: ...


class RowsWithKeys(RowsWithLabels, Protocol):
    """Rows of a table, each with a key and a line that describes it."""

    keys: list[str]

    def __len__(self) -> int: ...

    def summarise(self, row: int) -> str: ...


class LabelledSession(LabelledTable, Protocol):
    """A table that people label, and the model that follows their answers."""

    classes: list[str]
    current_answers: list[AnswerEntry]

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
    error = _estimate_error(session, sample)
    changed = session.changed_since
    advice = advise_stopping(changed, 0 if error is None else error.n, error)
    figures = {
        "shares": {k: v.as_plain() for k, v in estimate_shares(truth, session.classes).items()},
        "error": None if error is None else error.as_plain(),
        "error_at": learner.n_answers_at_left_out,
        "n_answers": learner.n_answers,
        "changed": changed,
        "advice": {"stop": advice.stop, "words": advice.words},
        "n_random": len(sample),
        "busy": learner.is_busy,
        "model": MODEL_DESCRIPTIONS[learner.kind],
    }
    return figures | _list_rows(session, sample, rate) if lists else figures


def _estimate_error(session: LabelledSession, sample: list[int]) -> Share | None:
    """Estimate the error from the random rows, each scored without its label; None if unknown."""
    learner = session.learner
    if learner.kind != "s3vm" or not learner.left_out_predictions:
        return None
    counts = np.bincount(learner.codes[learner.codes >= 0], minlength=len(session.classes))
    wrong = n = 0
    for row in sample:
        code = learner.codes[row]
        if row in learner.left_out_predictions:
            n += 1
            wrong += learner.left_out_predictions[row][0] != code
        elif counts[code] < 2:  # without it nobody would know the class
            n, wrong = n + 1, wrong + 1
    return estimate_share(wrong, n, learner.n_labels_of_left_out)


def _list_rows(session: LabelledSession, sample: list[int], rate: float) -> dict[str, Any]:
    learner = session.learner
    lines: dict[str, Any] = {}
    unlabelled = np.flatnonzero(learner.codes < 0)

    def describe_rows(rows: Iterable[int]) -> list[dict[str, int | str]]:
        return [{"row": int(row), "text": session.rows.summarise(int(row))} for row in rows]

    lines["differing"] = _list_disagreements(session)
    lines["doubt"], lines["wrong"], lines["positives"] = [], [], None
    if learner.kind != "s3vm":
        return lines
    decisions = learner.decisions
    assert decisions is not None
    order = np.argsort(_margins_between_classes(decisions)[unlabelled])[:_MAX_ROWS_LISTED]
    lines["doubt"] = describe_rows(unlabelled[order])
    contradicted = [
        (float(np.max(np.abs(decisions))), row)
        for row, (code, decisions) in learner.left_out_predictions.items()
        if learner.codes[row] >= 0 and code != learner.codes[row]
    ]
    lines["wrong"] = describe_rows(
        [row for _, row in sorted(contradicted, reverse=True)[:_MAX_ROWS_LISTED]]
    )
    target_class = learner.classes[0]
    sample = [row for row in sample if row in learner.left_out_predictions]
    scores = _scores_of_class(decisions, 0)
    positives = list_positives(
        scores,
        unlabelled,
        [
            _scores_of_class(np.asarray(learner.left_out_predictions[r][1])[None], 0)[0]
            for r in sample
        ],
        [learner.codes[r] == target_class for r in sample],
        len(session.rows),
        rate,
    )
    lines["positives"] = {
        "class": session.classes[target_class],
        "rate": rate,
        "count": len(positives.rows),
        "why": positives.why,
        "rows": describe_rows(positives.rows[:_MAX_ROWS_LISTED]),
    }
    return lines


def _scores_of_class(decisions: FloatArray, position: int) -> FloatArray:
    """Return scores that are greater for rows of a model's class with this position."""
    return -decisions if decisions.ndim == 1 else decisions[:, position]


def _margins_between_classes(decisions: FloatArray) -> FloatArray:
    if decisions.ndim == 1:
        return np.abs(decisions)
    best = np.partition(decisions, -2, axis=1)
    return best[:, -1] - best[:, -2]


def _list_disagreements(session: LabelledSession) -> list[dict[str, Any]]:
    """Return the rows to which people gave different labels."""
    labels_by_row: defaultdict[str, dict[str, tuple[int, str | None]]] = defaultdict(dict)
    for answer in session.current_answers:
        if answer.kind == "label":
            labels_by_row[answer.row_key][answer.annotator] = (answer.row, answer.label)
    disagreements = []
    for key, labels_by_person in labels_by_row.items():
        if len({label for _, label in labels_by_person.values()}) > 1:
            row = session.rows.keys.index(key)
            labels = {who: label for who, (_, label) in labels_by_person.items()}
            disagreements.append(
                {"row": row, "text": session.rows.summarise(row), "labels": labels}
            )
    return disagreements
