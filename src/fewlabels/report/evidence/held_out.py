"""Scores of rows by models that were not trained on them, and rates counted on such rows."""

import math
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import KFold

from ..._typing import FloatArray, IntArray, RowMatrix
from ..._util.deadline import Deadline
from ...calibration.cross_fitting import Sample, left_out_scores
from ...calibration.curve import class_of
from ...model_selection import LabeledKFold, PUKFold
from ...rows.grouped_folds import count_once, kinds_of_groups, splits_counted_once, take_groups
from ..contents import Group, Rate
from ..fit import Fit, HeldOutScores
from ..page import words
from .intervals import counted_interval

# Models of a cross-fit.
_FOLDS = 5
# Seconds after which no further model is begun, and their share of those left for a report.
_MAX_SECONDS = 60.0
_TIME_SHARE = 0.6
# Cost of a fit to a part of the labels, as a share of the cost of a fit to all of them.
_COST_OF_PART = 0.8
# A fit of so many seconds is made in any case, so that rates can be counted.
_FREE_SECONDS = 0.5
# The same limits of models with a part of the labels hidden, in seconds.
_MAX_SECONDS_HIDING = 30.0
_FREE_SECONDS_HIDING = 1.0


def cross_fit_positive(
    estimator: BaseEstimator,
    X: RowMatrix,
    y: IntArray,
    deadline: Deadline,
    seconds: float = 0.0,
    groups: IntArray | None = None,
) -> HeldOutScores:
    """Cross-fit a fitted model of positive (y = 1) and unlabelled rows, both kinds held out.

    Its prior is taken, not estimated again. A fit is expected to take so many ``seconds``. Rows of
    one of the ``groups`` are held out together.
    """
    of_groups = kinds_of_groups(y == 1, groups)
    fewest = int(min(np.sum(of_groups), np.sum(~of_groups)))
    if fewest < 2:
        return _no_scores("no row can be held out, because one kind has only one row.")
    folds = PUKFold(min(_FOLDS, fewest), shuffle=True, random_state=0)
    splits = folds.split(X, y, groups)
    estimator = clone(estimator).set_params(prior=estimator.prior_)
    return _cross_fit(estimator, X, y, splits, deadline, seconds, groups=groups)


def cross_fit_classes(
    estimator: BaseEstimator,
    X: RowMatrix,
    y: IntArray,
    others: IntArray,
    deadline: Deadline,
    seconds: float,
    groups: IntArray | None = None,
) -> HeldOutScores:
    """Cross-fit a fitted model of classes; unlabelled rows (y = -1) are always trained on.

    All models are queried about the rows ``others``. Of several classes those with one labelled
    row are never held out. Where there is no time for a fit, which takes so many ``seconds``,
    what probabilities were calibrated by is taken. Rows of one of the ``groups`` are held out
    together.
    """
    calibration_scores = getattr(estimator, "left_out_decisions_", None)
    if calibration_scores is not None and len(calibration_scores) == len(y):
        # Calibration has held rows out, perhaps more than there is time for here.
        n_known = int(np.isfinite(calibration_scores).all(axis=1).sum())
        if _time_limit(deadline) < seconds * max(1.0, 2 * _FOLDS * n_known / int(np.sum(y >= 0))):
            return _scores_of_calibration(calibration_scores, deadline, y, seconds, groups)
    labelled = np.flatnonzero(y >= 0)
    of_groups = kinds_of_groups(y[labelled], take_groups(groups, labelled))
    sizes, held = np.bincount(of_groups, minlength=int(y.max()) + 1), y
    if len(sizes) > 2 and sizes.max() > 1:
        alone = np.flatnonzero(sizes <= 1)
        sizes, held = sizes[sizes > 1], np.where(np.isin(y, alone), -1, y)
    fewest = int(sizes.min())
    if fewest < 2:
        return _no_scores("no row can be held out, because a class has only one labelled row.")
    folds = LabeledKFold(min(2 * _FOLDS, fewest), shuffle=True, random_state=0)
    splits = folds.split(X, held, groups)
    return _cross_fit(clone(estimator), X, y, splits, deadline, seconds, others, groups)


def _time_limit(deadline: Deadline) -> float:
    """Return the seconds for a cross-fit."""
    return min(_MAX_SECONDS, _TIME_SHARE * deadline.left())


def _scores_of_calibration(
    calibration_scores: FloatArray,
    deadline: Deadline,
    y: IntArray,
    seconds: float,
    groups: IntArray | None,
) -> HeldOutScores:
    known = np.flatnonzero(np.isfinite(calibration_scores).all(axis=1))
    n_labels = int(np.sum(y >= 0))
    cause = (
        "models without part of the labels would take about "
        f"{math.ceil(2 * _FOLDS * seconds)} s, and {_time_limit(deadline):.2g} s were left for "
        "them"
    )
    rows = count_once(known, y >= 0, groups)
    if not len(rows):
        deadline.cut.append(f"no held-out predictions, because {cause}")
        return _no_scores("there was no time to train models without part of the labels.")
    if len(known) < n_labels:
        deadline.cut.append(
            f"error rates are based on {len(known)} of {n_labels} labels, because {cause}"
        )
    scores = calibration_scores[rows]
    return HeldOutScores(rows, scores[:, 0] if scores.shape[1] == 1 else scores, 0, 0)


def _cross_fit(
    estimator: BaseEstimator,
    X: RowMatrix,
    y: IntArray,
    splits: Iterable[tuple[IntArray, IntArray]],
    deadline: Deadline,
    seconds: float,
    others: IntArray | None = None,
    groups: IntArray | None = None,
) -> HeldOutScores:
    end = Deadline(_time_limit(deadline))
    if deadline.has_end and max(_FREE_SECONDS, end.left()) < _COST_OF_PART * seconds:
        deadline.cut.append("no held-out predictions")
        return _no_scores("there was no time to train a model without them.")
    # Decisions are all that is needed: baselines need not fit their probabilities.
    make_estimator = getattr(estimator, "uncalibrated", partial(clone, estimator))
    kinds = y if others is None else y >= 0
    sample, folds = Sample(X, y), splits_counted_once(splits, kinds, groups)
    n_classes = len(np.unique(y[y >= 0]))
    failed, votes = "", []
    done, longest = 0, 0.0

    def score(train: IntArray, test: IntArray) -> FloatArray | None:
        nonlocal done, failed, longest
        since = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                part = sample.fit(make_estimator(), train)
            except ValueError as error:
                failed = str(error)
                return None
        done += 1
        if others is not None and len(others):
            votes.append(part.decision_function(X[others]))
        found = part.decision_function(X[test])
        longest = max(longest, time.perf_counter() - since)
        return found

    scores = left_out_scores(
        len(y),
        folds,
        score,
        is_over=lambda: done > 0 and end.left() < longest,
        n_scores=n_classes if n_classes > 2 else None,
    )
    if not done:
        return _no_scores(f"no row could be held out ({failed})")
    if done < len(folds) and not failed:
        deadline.cut.append(
            f"error rates are based on {done} of {len(folds)} models trained without part of "
            "the labels"
        )
    missing = np.isnan(scores)
    rows = np.flatnonzero(~(missing if scores.ndim == 1 else missing.any(axis=1)))
    parts = np.full(len(y), -1)
    for number, (_, test) in enumerate(folds):
        parts[test] = number
    all_votes = np.array(votes) if votes else None
    return HeldOutScores(rows, scores[rows], done, len(folds), votes=all_votes, parts=parts[rows])


def _no_scores(reason: str) -> HeldOutScores:
    return HeldOutScores(np.zeros(0, int), np.zeros(0), 0, 0, reason)


def make_score_group(fit: Fit, held: HeldOutScores, value: int, title: str) -> Group:
    """Return the scores of the rows with a label, held-out ones if there are any."""
    chosen = fit.labels[held.rows] == value
    if chosen.any():
        return Group(title, held.scores[chosen], held.about)
    trained = fit.labels[fit.scored_rows] == value
    return Group(title, fit.decisions[trained], "Scored by the model that was trained on them.")


def group_unlabelled(fit: Fit, scores: FloatArray, counts: tuple[int, int]) -> Group:
    """Return the scores of the unlabelled rows, and how many are predicted on either side."""
    about = "Scored by the model, which was trained on these rows without labels."
    if fit.is_sampled:
        return Group("unlabelled, a random sample", scores, about)
    group = Group("unlabelled", scores, about)
    if group.sides != counts:
        about += " The numbers count held-out predictions, which differ for some rows."
    return replace(group, about=about, counts=counts)


def make_counted_rate(
    name: str,
    hits: int,
    n: int,
    how: str,
    interval: Callable[[float, float], tuple[float, float]] = counted_interval,
    term: str = "",
) -> Rate:
    """Return a rate of ``hits`` of ``n`` rows; ``how`` continues after these numbers.

    ``interval`` is ``cross_fitted_interval`` for rows that were scored by cross-fitted models.
    """
    source = f"{words.count(hits)} of {words.count(n)} {how}"
    return Rate(name, hits / n, interval(hits, n), source, term)


class HiddenLabelCounts(NamedTuple):
    """Counts of labelled rows that models marked which took them for unlabelled.

    ``folds`` models were trained. ``n`` is 0 if none could be, and ``reason`` says why.
    """

    found: int
    n: int
    folds: int
    reason: str = ""


def hide_labels(
    estimator: BaseEstimator,
    X: RowMatrix,
    y: IntArray,
    deadline: Deadline,
    seconds: float = 0.0,
    groups: IntArray | None = None,
) -> HiddenLabelCounts:
    """Hide a part of the labels at a time, train again, and count the rows that get marked.

    The models have the settings and the prior of ``estimator``, a fitted model of positive (y = 1)
    and unlabelled rows. Rows with a hidden label stay in training, as unlabelled rows. The model
    treats them like the unlabelled positives, so both have the same recall. Rows that are left out
    of training altogether score higher, and would promise too much. If there is no time for a fit
    of so many ``seconds``, nothing is counted. Labels of one of the ``groups`` are hidden
    together, and one of them is counted.
    """
    labelled = np.flatnonzero(y == 1)
    _, group_index = np.unique(
        groups[labelled] if groups is not None else labelled, return_inverse=True
    )
    n_groups = int(group_index.max(initial=-1)) + 1
    if n_groups < 2:
        return HiddenLabelCounts(
            0, 0, 0, "there is only one labelled row, so no label can be hidden."
        )
    n_unlabelled = int(np.sum(y != 1))
    expected = estimator.prior_ * n_unlabelled
    folds = KFold(min(_FOLDS, n_groups), shuffle=True, random_state=0)
    if seconds > max(deadline.left(), _FREE_SECONDS_HIDING):
        deadline.cut.append("no models with part of the labels hidden")
        return HiddenLabelCounts(0, 0, 0, "there was no time to hide labels.")
    end = Deadline(min(_MAX_SECONDS_HIDING, _TIME_SHARE * deadline.left()))
    found = n = done = 0
    longest, reason = 0.0, ""
    for _, part in folds.split(np.arange(n_groups)):
        if done and end.left() < longest:
            break
        since = time.perf_counter()
        rows = labelled[np.isin(group_index, part)]
        counted_rows = count_once(rows, y, groups)
        hidden = y.copy()
        hidden[rows] = 0
        prior = (expected + len(rows)) / (n_unlabelled + len(rows))
        model = clone(estimator).set_params(prior=prior)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                decision = model.fit(X, hidden).decision_function(X[counted_rows])
            except ValueError as error:
                reason = f"no label could be hidden: {error}"
                continue
        found += int(class_of(decision).sum())
        n, done = n + len(counted_rows), done + 1
        longest = max(longest, time.perf_counter() - since)
    if done < folds.n_splits and not reason:
        deadline.cut.append(
            f"only {done} of {folds.n_splits} models with part of the labels hidden"
        )
    return HiddenLabelCounts(found, n, done, "" if done else reason)
