"""What a report says of a model that knows two classes or more."""

from collections.abc import Sequence

import numpy as np

from .._typing import FloatArray, IntArray
from ..calibration.curve import class_of
from ..metrics.intervals import effective_counts, weighted_accuracy
from ..model_selection.comparison.result import BaselineComparison
from ..tables.models.cautions import RANDOM_PER_CLASS, are_unlike
from .contents import ClassFindings, Findings, Group, Ranking, Rate
from .evidence.held_out import (
    cross_fit_classes,
    group_unlabelled,
    make_counted_rate,
    make_score_group,
)
from .evidence.intervals import counted_interval, cross_fitted_interval
from .evidence.model_tests import MAX_QUERIED
from .fit import Fit, HeldOutScores, RankingColumns, SharesOfClasses
from .page import words
from .rankings import list_contradicted_labels
from .reasons import explain_rows

_ROWS_LISTED = 10
_ACCURACY = "Accuracy"
# A confidence interval that is wider leaves the accuracy open.
_WIDE_INTERVAL = 0.25
# Hits and misses that a class is supposed to have before any are counted.
_PSEUDO_COUNT = 0.1
# Of so many classes each has a list of its most certain rows.
_MAX_CLASSES_LISTED = 20


def find(fit: Fit) -> Findings:
    """Return findings about classes and unlabelled rows."""
    training, y = fit.training, fit.labels
    names = training["classes"]
    counts = training["unlabeled_predicted"]
    n_unlabelled = sum(counts.values())
    unlabelled = np.flatnonzero(y[fit.scored_rows] < 0)[:MAX_QUERIED]
    held = fit.held or cross_fit_classes(
        fit.estimator,
        fit.X,
        y,
        fit.scored_rows[unlabelled],
        fit.deadline,
        training["seconds"],
        fit.groups,
    )
    shares = fit.shares if fit.shares is not None and fit.shares.contradicts_labels else None
    rates, notes = estimate_rates(held, y, names, fit.comparison, shares)
    n_labelled = int(np.sum(y >= 0))
    headline = (
        f"The model used {words.rows(n_labelled)} with a label to classify "
        f"{words.rows(n_unlabelled)} without one: {_list_counts(counts)}."
    )
    answer = [
        (f"Unlabelled rows predicted as '{k}'", words.of_all(n, n_unlabelled))
        for k, n in counts.items()
    ]
    has_two_classes = len(names) == 2
    if rates:
        sentence = describe_accuracy(rates[0], shares is not None)
        if are_unlike(training):
            sentence = f"On rows like the labelled ones, {sentence[:1].lower()}{sentence[1:]}"
        headline += f" {sentence}"
        of_rows = " on rows like the labelled ones" if are_unlike(training) else ""
        answer += [(f"{rate.name}{of_rows}", words.rate(rate)) for rate in rates]
    if shares is not None:
        answer += [
            (f"Expected share of '{name}' among unlabelled rows", words.estimate(mean, ends))
            for name, (mean, *ends) in zip(
                names if has_two_classes else (), shares.ends, strict=False
            )
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
        answer=answer if has_two_classes else answer[len(counts) :],
        sides=(f"'{names[0]}'", f"'{names[1]}'") if has_two_classes else ("", ""),
        groups=_group_scores(fit, held, names) if has_two_classes else [],
        rankings=[
            *(_rank_unlabelled_rows(fit, unlabelled, held, names) if n_unlabelled else []),
            *list_contradicted_labels(fit, held, dict(enumerate(names))),
        ],
        rates=rates,
        notes=tuple(notes),
        classes=_describe_classes(fit, unlabelled, held, names, shares),
    )


def describe_accuracy(accuracy: Rate, is_weighted: bool = False) -> str:
    """Describe the accuracy in a sentence, without a single number where little is known.

    ``is_weighted``: by class shares that are estimated from the unlabelled rows.
    """
    assert accuracy.interval is not None
    low, high = accuracy.interval
    if high - low > _WIDE_INTERVAL:
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


def _list_counts(counts: dict[str, int]) -> str:
    return words.listing(f"{words.count(n)} '{name}'" for name, n in counts.items())


def _margins_between_classes(scores: FloatArray) -> FloatArray:
    """Return how far each row is from getting another class."""
    if scores.ndim == 1:
        return np.abs(scores)
    has_two_classes = np.sort(scores, axis=1)[:, -2:]
    return has_two_classes[:, 1] - has_two_classes[:, 0]


def estimate_rates(
    held: HeldOutScores,
    y: IntArray,
    names: Sequence[str],
    comparison: BaselineComparison | None,
    shares: SharesOfClasses | None = None,
) -> tuple[list[Rate], list[str]]:
    """Estimate accuracy and recalls by the held-out scores of labels ``y``, with remarks.

    The accuracy is one among rows that have the ``ClassShares``, where the labels have others.
    """
    if held.reason:
        return [], [f"The accuracy is unknown: {held.reason}"]
    truth, answers = y[held.rows], class_of(held.scores)
    n, right = len(truth), int(np.sum(truth == answers))
    of_what = "labelled rows are classified correctly by models trained without their labels."
    if shares is not None and shares.contradicts_labels:
        counts = f"{words.count(right)} of {words.count(n)} {of_what}"
        accuracy = _weight_accuracy(truth, answers, names, shares, counts)
    else:
        accuracy = _accuracy_of_comparison(comparison, n) or make_counted_rate(
            _ACCURACY, right, n, of_what, cross_fitted_interval, "accuracy"
        )
    rates = [accuracy]
    unknown = []
    for k, name in enumerate(names if len(names) == 2 else ()):
        in_class = truth == k
        hits, n_in_class = int(np.sum(answers[in_class] == k)), int(np.sum(in_class))
        if not n_in_class:
            unknown.append(
                f"The recall of '{name}' is unknown: the time ran out before any labelled rows "
                "of this class were held out."
            )
            continue
        title = f"Recall of '{name}'"
        of_what = "labelled rows of this class are recognised."
        term = f"recall of '{name}'"
        rates.append(
            make_counted_rate(title, hits, n_in_class, of_what, cross_fitted_interval, term)
        )
    return rates, unknown


def _weight_accuracy(
    truth: IntArray, answers: IntArray, names: Sequence[str], shares: SharesOfClasses, counts: str
) -> Rate:
    """Estimate the accuracy among rows with the ``ClassShares`` from each class's rows.

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
        f"{words.listing(each[:_ROWS_LISTED])}. This assumes that {RANDOM_PER_CLASS}."
    )
    return Rate(_ACCURACY, found.value, (found.low, found.high), how, "accuracy")


def _accuracy_of_comparison(comparison: BaselineComparison | None, n: int) -> Rate | None:
    """Return the accuracy from the comparison with other methods, so that there is one figure.

    None if it came to its end before ``n`` rows were held out.
    """
    if comparison is None or comparison.outcome == "unknown" or comparison.rows < n:
        return None
    own_row = comparison.table[comparison.table["ours"]].iloc[0]
    if not np.isfinite(own_row[["score", "low", "high"]].to_numpy(float)).all():
        return None
    rows = comparison.rows
    ends = cross_fitted_interval(float(own_row["score"]) * rows, rows)
    how = (
        f"Measured on {words.rows(comparison.rows)} held out with their labels, as in the "
        "comparison with other methods."
    )
    return Rate(_ACCURACY, float(own_row["score"]), ends, how, "accuracy")


def _describe_classes(
    fit: Fit,
    unlabelled: IntArray,
    held: HeldOutScores,
    names: Sequence[str],
    shares: SharesOfClasses | None,
) -> tuple[ClassFindings, ...]:
    """Return labels, predictions, and the expected share and errors of each class."""
    y, called = fit.labels, fit.training["unlabeled_predicted"]
    estimates = _estimate_class_shares(fit, unlabelled, shares)
    truth, answers = y[held.rows], class_of(held.scores) if len(held.rows) else np.zeros(0, int)
    confusion = np.zeros((len(names), len(names)))
    np.add.at(confusion, (truth, answers), 1.0)
    found = []
    for k, name in enumerate(names):
        right = int(confusion[k, k])
        precision = _count_rate("precision", right, int(confusion[:, k].sum()))
        if shares is not None:
            precision = _weight_precision(confusion, k, shares)
        found.append(
            ClassFindings(
                name,
                labelled=int(np.sum(y == k)),
                predicted=called[name],
                share=estimates[k] if estimates else None,
                precision=precision,
                recall=_count_rate("recall", right, int(confusion[k].sum())),
            )
        )
    return tuple(found)


def _estimate_class_shares(
    fit: Fit, unlabelled: IntArray, shares: SharesOfClasses | None
) -> list[Rate]:
    """Return the share of each class among the unlabelled rows; none if nothing says it."""
    name = "expected share"
    if shares is not None:
        return [
            Rate(name, float(mean), (float(low), float(high)), "")
            for mean, low, high in shares.ends
        ]
    if not hasattr(fit.estimator, "predict_proba") or not len(unlabelled):
        return []
    chances = fit.estimator.predict_proba(fit.X[fit.scored_rows[unlabelled]]).mean(axis=0)
    n = int(np.sum(fit.labels >= 0))
    return [Rate(name, float(share), counted_interval(share * n, n), "") for share in chances]


def _weight_precision(confusion: FloatArray, k: int, shares: SharesOfClasses) -> Rate | None:
    """Estimate the precision among rows with the ``ClassShares``; None if no row has it."""
    rng, n = np.random.default_rng(0), confusion.sum(axis=1)
    if not confusion[:, k].any() or not n.all():
        return None
    hits, size = effective_counts(confusion[:, k], n)
    called = rng.beta(
        hits + _PSEUDO_COUNT, size - hits + _PSEUDO_COUNT, (len(shares.draws), len(n))
    )
    called *= shares.draws
    precision_draws = called[:, k] / called.sum(axis=1)
    low, median, high = np.quantile(precision_draws, [0.05, 0.5, 0.95])
    return Rate("precision", float(median), (float(low), float(high)), "")


def _count_rate(name: str, hits: int, n: int) -> Rate | None:
    """Return a rate of held-out rows with its interval; None without any rows."""
    return Rate(name, hits / n, cross_fitted_interval(hits, n), "") if n else None


def _group_scores(fit: Fit, held: HeldOutScores, names: Sequence[str]) -> list[Group]:
    groups = [make_score_group(fit, held, k, f"labelled '{name}'") for k, name in enumerate(names)]
    unlabelled = fit.labels[fit.scored_rows] < 0
    if unlabelled.any():
        called = fit.training["unlabeled_predicted"]
        counts = called[names[0]], called[names[1]]
        groups.append(group_unlabelled(fit, fit.decisions[unlabelled], counts))
    return groups


def _rank_unlabelled_rows(
    fit: Fit, unlabelled: IntArray, held: HeldOutScores, names: Sequence[str]
) -> list[Ranking]:
    scores, order = fit.decisions[unlabelled], fit.scored_rows[unlabelled]
    listed = [_rank_least_certain(fit, scores, order, held, names)]
    answers, margins = class_of(scores), _margins_between_classes(scores)
    if len(names) > _MAX_CLASSES_LISTED:
        return listed
    for k, name in enumerate(names):
        of_class = np.flatnonzero((answers == k) & (margins > 0))
        if not len(of_class):
            continue
        best = of_class[np.argsort(-margins[of_class], kind="stable")][:_ROWS_LISTED]
        columns = _score_columns(fit, scores[best], order[best])
        direction = 2.0 * k - 1.0 if len(names) == 2 else 1.0
        columns["why"] = explain_rows(fit, fit.trained_rows, order[best], direction)
        listed.append(
            Ranking(
                f"Most confident predictions of '{name}'",
                "If one of these is wrong, check the labels and the columns.",
                fit.table(fit.trained_rows, order[best], columns),
            )
        )
    return listed


def _rank_least_certain(
    fit: Fit, scores: FloatArray, order: IntArray, held: HeldOutScores, names: Sequence[str]
) -> Ranking:
    """List unlabelled rows that models of slightly other labels disagree on.

    Not by the model's own scores: it keeps the rows that it was trained on away from the
    boundary.
    """
    answers = class_of(scores)
    if held.votes is None:
        doubt = _margins_between_classes(scores)
        text = "Unlabelled rows closest to the boundary."
    else:
        doubt = _margins_between_classes(np.clip(held.votes, -1.0, 1.0).mean(axis=0))
        text = (
            f"Unlabelled rows on which {held.folds} models, each trained on part of the labels, "
            "disagree most."
        )
        if held.folds == 1:
            text = (
                "Unlabelled rows closest to the boundary of a model trained on part of the labels."
            )
    best = np.argsort(doubt, kind="stable")[:_ROWS_LISTED]
    columns: RankingColumns = {"class": [names[answer] for answer in answers[best]]}
    columns |= _score_columns(fit, scores[best], order[best])
    if held.votes is not None and held.folds > 1:
        votes = np.array([class_of(vote[best]) for vote in held.votes])
        agrees = votes == answers[best]
        columns["models that agree"] = [f"{n} of {held.folds}" for n in agrees.sum(axis=0)]
    columns["why"] = explain_rows(fit, fit.trained_rows, order[best], 0.0)
    which = "to either class" if len(names) == 2 else "for or against the class"
    return Ranking(
        "Least confident: label these next",
        f"{text} Their labels would help the model most."
        + any(columns["why"]) * f" The columns listed contribute most {which}.",
        fit.table(fit.trained_rows, order[best], columns),
    )


def _score_columns(fit: Fit, scores: FloatArray, order: IntArray) -> RankingColumns:
    """Return scores, and probabilities of the class that each row gets."""
    answers = class_of(scores)
    columns: RankingColumns = {"score": scores if scores.ndim == 1 else scores.max(axis=1)}
    if hasattr(fit.estimator, "predict_proba"):
        chances = fit.estimator.predict_proba(fit.X[order])
        columns["probability"] = chances[np.arange(len(answers)), answers]
    return columns
