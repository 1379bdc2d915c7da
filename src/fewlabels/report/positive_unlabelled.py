"""What a report says of a model that knows positive and unlabelled rows."""

import numpy as np
from sklearn.base import BaseEstimator

from .._typing import FloatArray, IntArray
from .._util.messages import plural, ref
from ..tables.models.cautions import RANDOM_SAMPLE, describe_label_test
from .contents import Findings, Ranking, Rate
from .evidence.held_out import (
    HiddenLabelCounts,
    cross_fit_positive,
    group_unlabelled,
    hide_labels,
    make_score_group,
)
from .evidence.intervals import estimate_precision_and_recall
from .fit import Fit, RankingColumns
from .page import words
from .rankings import count_equal_rows, describe_ties, list_contradicted_labels, merge_equal_rows
from .reasons import explain_rows
from .sensitivity import measure_sensitivity

_ROWS_LISTED = 20
# An interval of the prior wider than this deserves a remark.
_WIDE_PRIOR_INTERVAL = 0.4


def find(fit: Fit) -> Findings:
    """Return findings about positive and unlabelled rows."""
    estimator, training, y = fit.estimator, fit.training, fit.labels
    name = training["positive"]
    prior = _make_prior_rate(estimator, name)
    unlabelled = y[fit.scored_rows] != 1
    scores, order = fit.decisions[unlabelled], fit.scored_rows[unlabelled]
    n_unlabelled = int(np.sum(y != 1))
    marked = training["unlabeled_predicted_positive"]
    cross_fit_arguments = estimator, fit.X, y, fit.deadline, training["seconds"], fit.groups
    held = fit.held or cross_fit_positive(*cross_fit_arguments)
    groups = [
        make_score_group(fit, held, 1, f"labelled '{name}'"),
        group_unlabelled(fit, scores, (n_unlabelled - marked, marked)),
    ]
    counts = hide_labels(*cross_fit_arguments)
    quantiles = getattr(estimator, "prior_quantiles_", None)
    rates, notes = _estimate_rates(counts, marked, n_unlabelled, name, prior, quantiles)
    headline = _write_headline(prior, rates, marked, n_unlabelled, name)
    answer = [
        (f"Rows predicted '{name}'", words.of_all(marked, n_unlabelled)),
        (f"Expected share of '{name}'", _write_rate(prior)),
        *_count_expected_positives(prior, n_unlabelled, name),
        *((rate.name, _write_rate(rate)) for rate in rates),
    ]
    if training.get("prior_contradiction"):
        return _findings_of_ranking(
            fit, prior, _rank_likely_positives(fit, scores, order, name, chances=False)
        )
    if prior.interval is not None and not prior.is_determined:
        notes.append(
            f"The threshold needs a share of '{name}' and takes {words.percent(prior.value)}, "
            f"which these data don't determine ({words.span(prior.interval)}). So the number of "
            f"rows predicted '{name}' means little, and the ranking is more reliable. Pass "
            f"{ref('prior')} if you know the share."
        )
    elif (
        prior.interval is not None and prior.interval[1] - prior.interval[0] > _WIDE_PRIOR_INTERVAL
    ):
        notes.append(
            f"These data leave the share of '{name}' among the unlabelled rows uncertain "
            f"({words.span(prior.interval)}). It affects how many rows are predicted so, "
            "and the ranking less."
        )
    if caution := describe_label_test(training):
        notes.append(caution)
    return Findings(
        headline=headline,
        answer=answer,
        sides=("predicted negative", f"predicted '{name}'"),
        groups=groups,
        rankings=[
            _rank_likely_positives(fit, scores, order, name),
            *list_contradicted_labels(fit, held, {1: name}),
        ],
        rates=rates,
        prior=prior,
        notes=tuple(notes),
        bias=measure_sensitivity(fit, name),
    )


def _write_rate(rate: Rate) -> str:
    """Write a rate and its interval, without a point where the data don't determine it."""
    if rate.interval is None or rate.is_determined:
        return words.estimate(rate.value, rate.interval)
    return f"{words.between(rate.interval)}: the data don't determine it"


def _write_error_rate(rate: Rate) -> str:
    """Write an error rate and its interval for a sentence."""
    assert rate.interval is not None
    if rate.is_determined:
        return f"{words.percent(rate.value)} (90 % CI {words.span(rate.interval)})"
    return f"{words.between(rate.interval)} (90 % CI; the data don't determine it)"


def _count_expected_positives(prior: Rate, n_unlabelled: int, name: str) -> list[tuple[str, str]]:
    """Return a line on the number of positive rows, where it isn't certain."""
    if prior.interval is None:
        return []
    low, high = (words.count(round(end * n_unlabelled)) for end in prior.interval)
    shown = f"{words.count(round(prior.value * n_unlabelled))} ({low} to {high})"
    if not prior.is_determined:
        shown = f"between {low} and {high}"
    return [(f"Expected number of '{name}'", shown)]


def _write_headline(
    prior: Rate, rates: list[Rate], marked: int, n_unlabelled: int, name: str
) -> str:
    """Say how many rows are positive, how many are predicted so, and how well."""
    rows = f"of {words.rows(n_unlabelled)} without a label are expected to be '{name}'"
    expected = words.count(round(prior.value * n_unlabelled))
    text = f"About {words.percent(prior.value)} {rows}: about {expected}"
    if prior.interval is not None:
        low, high = (words.count(round(end * n_unlabelled)) for end in prior.interval)
        text += f" (90 % CI {words.span(prior.interval)}, or {low} to {high} rows)"
        if not prior.is_determined:
            text = (
                f"{words.capital(words.between(prior.interval))} {rows}, or {low} to {high} rows "
                "(90 % CI): the data don't determine it"
            )
    text += f". The model predicts '{name}' for {words.of_all(marked, n_unlabelled)}."
    if rates:
        precision, recall = map(_write_error_rate, rates)
        text += (
            f" The expected precision is {precision}, and the expected recall {recall}, if "
            f"{RANDOM_SAMPLE}."
        )
    return text


def _findings_of_ranking(fit: Fit, prior: Rate, ranking: Ranking) -> Findings:
    """Return findings without figures, if the labelled rows contradict the prior."""
    signal, labelled = fit.training["signal"], fit.training["rows_labeled"]
    area = words.estimate(signal["area"], (signal["low"], signal["high"]))
    answer = [
        (f"{prior.name} (estimate contradicted by the labels)", words.number(prior.value)),
        ("ROC AUC of held-out labelled against unlabelled rows", area),
        ("Labelled rows", words.count(labelled)),
    ]
    return Findings("", answer, ("", ""), groups=[], rankings=[ranking], rates=[])


def _make_prior_rate(estimator: BaseEstimator, name: str) -> Rate:
    interval = estimator.prior_interval_
    title = f"Share of '{name}' among the unlabelled rows"
    if interval is None:
        return Rate(title, float(estimator.prior_), None, f"Given with {ref('prior')}.")
    return Rate(
        title,
        float(estimator.prior_),
        (float(interval[0]), float(interval[1])),
        "Estimated from the rows. This assumes that the labelled rows are a random sample of "
        f"all '{name}' rows, and that some other rows are clearly different. The interval "
        "covers chance only, not a wrong assumption.",
    )


def _estimate_rates(
    counts: HiddenLabelCounts,
    marked: int,
    n_unlabelled: int,
    name: str,
    prior: Rate,
    quantiles: FloatArray | None,
) -> tuple[list[Rate], list[str]]:
    """Estimate precision and recall of the marked rows from hidden labels and the prior."""
    if not counts.n:
        return [], [f"Error rates are unknown: {counts.reason}"]
    if not marked:
        return [], ["No unlabelled row is predicted positive, so there are no error rates."]
    found = estimate_precision_and_recall(
        prior.value, quantiles, counts.found, counts.n, marked, n_unlabelled
    )
    recall_source = (
        f"{words.count(counts.found)} of {words.count(counts.n)} labelled rows are found if "
        "their labels are hidden in training."
    )
    precision = Rate(
        f"Precision of '{name}'",
        found.precision,
        found.precision_interval,
        "Class prior times recall, divided by the share predicted positive "
        f"({words.percent(marked / n_unlabelled)}). Mean over the uncertainty of these.",
        "precision",
    )
    title = f"Recall of '{name}'"
    return [
        precision,
        Rate(title, found.recall, found.recall_interval, recall_source, "recall"),
    ], []


def _rank_likely_positives(
    fit: Fit, scores: FloatArray, order: IntArray, name: str, chances: bool = True
) -> Ranking:
    ranked = np.argsort(-scores, kind="stable")
    best, sizes = merge_equal_rows(fit.X[order], ranked, _ROWS_LISTED)
    order, scores = order[best], scores[best]
    columns: RankingColumns = {"score": scores}
    if chances and hasattr(fit.estimator, "predict_proba"):
        columns["probability"] = fit.estimator.predict_proba(fit.X[order])[:, 1]
    columns |= count_equal_rows(sizes)
    columns["why"] = explain_rows(fit, fit.trained_rows, order, 1.0)
    return Ranking(
        f"Unlabelled rows most like '{name}'",
        f"The {plural(sizes.sum(), 'unlabelled row')} most likely to be '{name}', the likeliest "
        f"first.{describe_ties(sizes)} 'fewlabels predict' scores all rows.",
        fit.table(fit.trained_rows, order, columns),
    )
