"""What a report says of a model that knows two classes or more."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from .._typing import FloatArray, IntArray
from ..calibration.curve import class_of
from ..metrics.intervals import cross_fitted, weighted_accuracy
from ..model_selection.comparison.result import BaselineComparison
from ..tables.models.contents import RANDOM_PER_CLASS, are_unlike
from .contents import Findings, Group, Ranking, Rate
from .evidence.held_out import counted, cross_fit_classes, group_of
from .evidence.intervals import counted_interval, cross_fitted_interval
from .evidence.testing import MOST_ASKED
from .fit import Fit, HeldOutScores, RankingColumns, SharesOfClasses
from .page import words
from .rankings import doubtful
from .reasons import reasons

_LISTED = 10
_RIGHT = "Accuracy"
# A confidence interval that is wider leaves the accuracy open.
_WIDE = 0.25
# Hits and misses that a class is supposed to have before any are counted.
_LEAST = 0.1
# Of so many classes each has a list of its most certain rows.
_MOST_LISTS = 20


def find(fit: Fit) -> Findings:
    """Findings about classes and unlabelled rows."""
    training, y = fit.training, fit.labels
    names = training["classes"]
    counts = training["unlabeled_predicted"]
    n_unlabelled = sum(counts.values())
    unlabelled = np.flatnonzero(y[fit.scored] < 0)[:MOST_ASKED]
    held = fit.held or cross_fit_classes(
        fit.estimator,
        fit.X,
        y,
        fit.scored[unlabelled],
        fit.deadline,
        training["seconds"],
        fit.groups,
    )
    shares = fit.shares if fit.shares is not None and fit.shares.contradicts_labels else None
    rates, notes = rates_of(held, y, names, fit.comparison, shares)
    n_labelled = int(np.sum(y >= 0))
    headline = (
        f"The model used {words.rows(n_labelled)} with a label to classify "
        f"{words.rows(n_unlabelled)} without one: {_counted(counts)}."
    )
    answer = [
        (f"Unlabelled rows predicted as '{k}'", words.of_all(n, n_unlabelled))
        for k, n in counts.items()
    ]
    two = len(names) == 2
    if rates:
        said = expected_accuracy(rates[0], shares is not None)
        if are_unlike(training):
            said = f"On rows like the labelled ones, {said[:1].lower()}{said[1:]}"
        headline += f" {said}"
        of_rows = " on rows like the labelled ones" if are_unlike(training) else ""
        answer += [(f"{rate.name}{of_rows}", words.rate(rate)) for rate in rates]
    if shares is not None:
        answer += [
            (f"Expected share of '{name}' among unlabelled rows", words.estimate(mean, ends))
            for name, (mean, *ends) in zip(names if two else (), shares.ends, strict=False)
        ]
    answer.append(
        (
            "Labelled rows",
            words.listing(
                f"{words.count(int(np.sum(y == k)))} '{name}'" for k, name in enumerate(names)
            ),
        )
    )
    return Findings(
        headline=headline,
        answer=answer if two else answer[len(counts) :],
        sides=(f"'{names[0]}'", f"'{names[1]}'") if two else ("", ""),
        groups=_groups(fit, held, names) if two else [],
        rankings=[
            *(_rankings(fit, unlabelled, held, names) if n_unlabelled else []),
            *doubtful(fit, held, dict(enumerate(names))),
        ],
        rates=rates,
        notes=tuple(notes),
        classes=None if two else _table(fit, unlabelled, held, names, shares),
    )


def expected_accuracy(accuracy: Rate, is_weighted: bool = False) -> str:
    """The accuracy as a sentence; where little is known, no single number stands for it.

    ``is_weighted``: by class shares that are estimated from the unlabelled rows.
    """
    assert accuracy.interval is not None
    low, high = accuracy.interval
    if high - low > _WIDE:
        why = "too few labels were held out to say more"
        if is_weighted:
            why = (
                "too few labels were held out, and the class ratio of the unlabelled rows is "
                "uncertain"
            )
        return (
            f"The accuracy is between {words.percent(low)} and {words.percent(high)} (90 % CI): "
            f"{why}."
        )
    value, span = words.percent(accuracy.value), words.span(accuracy.interval)
    assumed = f", if {RANDOM_PER_CLASS}" if is_weighted else ""
    return f"The expected accuracy is {value} (90 % CI {span}){assumed}."


def _counted(counts: dict[str, int]) -> str:
    return words.listing(f"{words.count(n)} '{name}'" for name, n in counts.items())


def _margins(scores: FloatArray) -> FloatArray:
    """How far each row is from getting another class."""
    if scores.ndim == 1:
        return np.abs(scores)
    two = np.sort(scores, axis=1)[:, -2:]
    return two[:, 1] - two[:, 0]


def rates_of(
    held: HeldOutScores,
    y: IntArray,
    names: Sequence[str],
    comparison: BaselineComparison | None,
    shares: SharesOfClasses | None = None,
) -> tuple[list[Rate], list[str]]:
    """Accuracy and recalls by the ``HeldOut`` scores of labels ``y``, and remarks.

    The accuracy is one among rows that have the ``ClassShares``, where the labels have others.
    """
    if held.reason:
        return [], [f"The accuracy is unknown: {held.reason}"]
    truth, answers = y[held.rows], class_of(held.scores)
    n, right = len(truth), int(np.sum(truth == answers))
    of_what = "labelled rows are classified correctly by models trained without their labels."
    if shares is not None and shares.contradicts_labels:
        counts = f"{words.count(right)} of {words.count(n)} {of_what}"
        accuracy = _weighted(truth, answers, names, shares, counts)
    else:
        accuracy = _compared(comparison, n) or counted(
            _RIGHT, right, n, of_what, cross_fitted_interval, "accuracy"
        )
    rates = [accuracy]
    unknown = []
    for k, name in enumerate(names if len(names) == 2 else ()):
        own = truth == k
        hits, n_own = int(np.sum(answers[own] == k)), int(np.sum(own))
        if not n_own:
            unknown.append(
                f"The recall of '{name}' is unknown: the time ran out before any labelled rows "
                "of this class were held out."
            )
            continue
        title = f"Recall of '{name}'"
        of_what = "labelled rows of this class are recognised."
        term = f"recall of '{name}'"
        rates.append(counted(title, hits, n_own, of_what, cross_fitted_interval, term))
    return rates, unknown


def _weighted(
    truth: IntArray, answers: IntArray, names: Sequence[str], shares: SharesOfClasses, counts: str
) -> Rate:
    """The accuracy among rows with the ``ClassShares``, from each class's held-out rows.

    ``counts`` says how many rows these are and how many are right, a sentence.
    """
    n = np.bincount(truth, minlength=len(names))
    hits = np.bincount(truth[truth == answers], minlength=len(names))
    found = weighted_accuracy(hits, n, shares.draws, shares.at_random)
    each = [
        f"{words.percent(mean)} '{name}' ({words.span(ends)})"
        for name, (mean, *ends) in zip(names, shares.ends, strict=True)
    ]
    how = (
        f"{counts} The labels may not have the class ratio of the unlabelled rows, so the recalls "
        "of the classes are weighted by an estimate of it: "
        f"{words.listing(each[:_LISTED])}. This assumes that {RANDOM_PER_CLASS}."
    )
    return Rate(_RIGHT, found.value, (found.low, found.high), how, "accuracy")


def _compared(comparison: BaselineComparison | None, n: int) -> Rate | None:
    """The accuracy that the comparison with other methods found, so that a page has one figure.

    None if it came to its end before ``n`` rows were held out.
    """
    if comparison is None or comparison.outcome == "unknown" or comparison.rows < n:
        return None
    ours = comparison.table[comparison.table["ours"]].iloc[0]
    if not np.isfinite(ours[["score", "low", "high"]].to_numpy(float)).all():
        return None
    rows = comparison.rows
    ends = cross_fitted_interval(float(ours["score"]) * rows, rows)
    how = (
        f"Measured on {words.rows(comparison.rows)} held out with their labels, as in the "
        "comparison with other methods."
    )
    return Rate(_RIGHT, float(ours["score"]), ends, how, "accuracy")


def _table(
    fit: Fit,
    unlabelled: IntArray,
    held: HeldOutScores,
    names: Sequence[str],
    shares: SharesOfClasses | None,
) -> pd.DataFrame:
    """A line for each of several classes: labels, rows called so, and what to expect of these."""
    y, called = fit.labels, fit.training["unlabeled_predicted"]
    chances = None
    if hasattr(fit.estimator, "predict_proba") and len(unlabelled):
        chances = fit.estimator.predict_proba(fit.X[fit.scored[unlabelled]]).mean(axis=0)
    truth, answers = y[held.rows], class_of(held.scores) if len(held.rows) else np.zeros(0, int)
    n_labelled, lines = int(np.sum(y >= 0)), []
    confusion = np.zeros((len(names), len(names)))
    np.add.at(confusion, (truth, answers), 1.0)
    for k, name in enumerate(names):
        line = {
            "class": name,
            "labelled": int(np.sum(y == k)),
            "predicted rows": called[name],
        }
        if shares is not None:
            mean, *ends = shares.ends[k]
            line["expected share"] = words.estimate(mean, ends)
        elif chances is not None:
            ends = counted_interval(chances[k] * n_labelled, n_labelled)
            line["expected share"] = words.estimate(float(chances[k]), ends)
        right = int(np.sum((truth == k) & (answers == k)))
        line["precision"] = _of(right, int(np.sum(answers == k)))
        if shares is not None:
            line["precision"] = _weighted_precision(confusion, k, shares)
        line["recognised"] = _of(right, int(np.sum(truth == k)))
        lines.append(line)
    return pd.DataFrame(lines)


def _weighted_precision(confusion: FloatArray, k: int, shares: SharesOfClasses) -> str:
    """Precision among rows with the ``ClassShares``, in words; nothing where no row tells."""
    rng, n = np.random.default_rng(0), confusion.sum(axis=1)
    if not confusion[:, k].any() or not n.all():
        return ""
    hits, size = cross_fitted(confusion[:, k], n)
    called = rng.beta(hits + _LEAST, size - hits + _LEAST, (len(shares.draws), len(n)))
    called *= shares.draws
    drawn = called[:, k] / called.sum(axis=1)
    low, median, high = np.quantile(drawn, [0.05, 0.5, 0.95])
    return words.estimate(float(median), (float(low), float(high)))


def _of(hits: int, n: int) -> str:
    """A rate with its interval, in words; nothing where no row tells."""
    return words.estimate(hits / n, cross_fitted_interval(hits, n)) if n else ""


def _groups(fit: Fit, held: HeldOutScores, names: Sequence[str]) -> list[Group]:
    groups = [group_of(fit, held, k, f"labelled '{name}'") for k, name in enumerate(names)]
    unlabelled = fit.labels[fit.scored] < 0
    if unlabelled.any():
        about = "Scored by the model, which was trained on these rows without labels."
        groups.append(Group("unlabelled", fit.decisions[unlabelled], about))
    return groups


def _rankings(
    fit: Fit, unlabelled: IntArray, held: HeldOutScores, names: Sequence[str]
) -> list[Ranking]:
    scores, order = fit.decisions[unlabelled], fit.scored[unlabelled]
    listed = [_least_certain(fit, scores, order, held, names)]
    answers, margins = class_of(scores), _margins(scores)
    if len(names) > _MOST_LISTS:
        return listed
    for k, name in enumerate(names):
        of_class = np.flatnonzero((answers == k) & (margins > 0))
        if not len(of_class):
            continue
        best = of_class[np.argsort(-margins[of_class], kind="stable")][:_LISTED]
        columns = _columns(fit, scores[best], order[best])
        direction = 2.0 * k - 1.0 if len(names) == 2 else 1.0
        columns["why"] = reasons(fit, fit.trained, order[best], direction)
        listed.append(
            Ranking(
                f"Most confident predictions of '{name}'",
                "If one of these is wrong, check the labels and the columns.",
                fit.table(fit.trained, order[best], columns),
            )
        )
    return listed


def _least_certain(
    fit: Fit, scores: FloatArray, order: IntArray, held: HeldOutScores, names: Sequence[str]
) -> Ranking:
    """Unlabelled rows that models of slightly other labels disagree on.

    Not by the model's own scores: it keeps the rows that it was trained on away from the
    boundary.
    """
    answers = class_of(scores)
    if held.votes is None:
        doubt = _margins(scores)
        text = "Unlabelled rows closest to the boundary."
    else:
        doubt = _margins(np.clip(held.votes, -1.0, 1.0).mean(axis=0))
        text = (
            f"Unlabelled rows on which {held.folds} models, each trained on part of the labels, "
            "disagree most."
        )
        if held.folds == 1:
            text = (
                "Unlabelled rows closest to the boundary of a model trained on part of the labels."
            )
    best = np.argsort(doubt, kind="stable")[:_LISTED]
    columns: RankingColumns = {"class": [names[answer] for answer in answers[best]]}
    columns |= _columns(fit, scores[best], order[best])
    if held.votes is not None and held.folds > 1:
        votes = np.array([class_of(vote[best]) for vote in held.votes])
        with_it = votes == answers[best]
        columns["models that agree"] = [f"{n} of {held.folds}" for n in with_it.sum(axis=0)]
    columns["why"] = reasons(fit, fit.trained, order[best], 0.0)
    which = "to either class" if len(names) == 2 else "for or against the class"
    return Ranking(
        "Least confident: label these next",
        f"{text} Their labels would help the model most."
        + any(columns["why"]) * f" The columns listed contribute most {which}.",
        fit.table(fit.trained, order[best], columns),
    )


def _columns(fit: Fit, scores: FloatArray, order: IntArray) -> RankingColumns:
    """Scores, and probabilities of the class that each row gets."""
    answers = class_of(scores)
    columns: RankingColumns = {"score": scores if scores.ndim == 1 else scores.max(axis=1)}
    if hasattr(fit.estimator, "predict_proba"):
        chances = fit.estimator.predict_proba(fit.X[order])
        columns["probability"] = chances[np.arange(len(answers)), answers]
    return columns
