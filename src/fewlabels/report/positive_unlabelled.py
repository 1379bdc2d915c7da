"""What a report says of a model that knows positive and unlabelled rows."""

import numpy as np
from sklearn.base import BaseEstimator

from .._typing import FloatArray, IntArray
from .._util.messages import ref
from ..tables.models.contents import RANDOM_SAMPLE, labels_words
from .contents import Findings, Ranking, Rate
from .evidence.held_out import Hidden, cross_fit_positive, group_of, hide_labels
from .evidence.intervals import promise
from .fit import Fit, RankingColumns
from .page import words
from .rankings import alike, doubtful, first_of_equal, tie_words
from .reasons import reasons
from .sensitivity import sensitivity

_LISTED = 20
# An interval of the prior wider than this deserves a remark.
_WIDE = 0.4


def find(fit: Fit) -> Findings:
    """Findings about positive and unlabelled rows."""
    machine, training, y = fit.estimator, fit.training, fit.labels
    name = training["positive"]
    prior = _prior(machine, name)
    unlabelled = y[fit.scored] != 1
    scores, order = fit.decisions[unlabelled], fit.scored[unlabelled]
    n_unlabelled = int(np.sum(y != 1))
    marked = training["unlabeled_predicted_positive"]
    held_out = machine, fit.X, y, fit.deadline, training["seconds"], fit.groups
    held = fit.held or cross_fit_positive(*held_out)
    titles = {1: f"labelled '{name}'", 0: "unlabelled"}
    groups = [group_of(fit, held, value, title) for value, title in titles.items()]
    hidden = hide_labels(*held_out)
    quantiles = getattr(machine, "prior_quantiles_", None)
    rates, notes = _rates(hidden, marked, n_unlabelled, name, prior, quantiles)
    headline = _headline(prior, rates, marked, n_unlabelled, name)
    answer = [
        (f"Rows predicted '{name}'", words.of_all(marked, n_unlabelled)),
        (f"Expected share of '{name}'", _shown(prior)),
        *_expected_rows(prior, n_unlabelled, name),
        *((rate.name, _shown(rate)) for rate in rates),
    ]
    if training.get("prior_contradiction"):
        return _ranked_only(fit, prior, _ranking(fit, scores, order, name, chances=False))
    if prior.interval is not None and not prior.is_determined:
        notes.append(
            f"The threshold needs a share of '{name}' and takes {words.percent(prior.value)}, "
            f"which these data don't determine ({words.span(prior.interval)}). So the number of "
            f"rows predicted '{name}' means little, and the ranking is more reliable. Pass "
            f"{ref('prior')} if you know the share."
        )
    elif prior.interval is not None and prior.interval[1] - prior.interval[0] > _WIDE:
        notes.append(
            f"These data leave the share of '{name}' among the unlabelled rows uncertain "
            f"({words.span(prior.interval)}). It affects how many rows are predicted so, "
            "and the ranking less."
        )
    if said := labels_words(training):
        notes.append(said)
    return Findings(
        headline=headline,
        answer=answer,
        sides=("predicted negative", f"predicted '{name}'"),
        groups=groups,
        rankings=[_ranking(fit, scores, order, name), *doubtful(fit, held, {1: name})],
        rates=rates,
        prior=prior,
        notes=tuple(notes),
        bias=sensitivity(fit, name),
    )


def _shown(rate: Rate) -> str:
    """A rate and its interval; without a point where the data don't determine it."""
    if rate.interval is None or rate.is_determined:
        return words.estimate(rate.value, rate.interval)
    return f"{words.between(rate.interval)}: the data don't determine it"


def _in_a_sentence(rate: Rate) -> str:
    """An error rate and its interval, as ``_shown``."""
    assert rate.interval is not None
    if rate.is_determined:
        return f"{words.percent(rate.value)} (90 % CI {words.span(rate.interval)})"
    return f"{words.between(rate.interval)} (90 % CI; the data don't determine it)"


def _expected_rows(prior: Rate, n_unlabelled: int, name: str) -> list[tuple[str, str]]:
    """A line of the answer on the number of positive rows, where it isn't certain."""
    if prior.interval is None:
        return []
    low, high = (words.count(round(end * n_unlabelled)) for end in prior.interval)
    shown = f"{words.count(round(prior.value * n_unlabelled))} ({low} to {high})"
    if not prior.is_determined:
        shown = f"between {low} and {high}"
    return [(f"Expected number of '{name}'", shown)]


def _headline(prior: Rate, rates: list[Rate], marked: int, n_unlabelled: int, name: str) -> str:
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
        precision, recall = map(_in_a_sentence, rates)
        text += (
            f" The expected precision is {precision}, and the expected recall {recall}, if "
            f"{RANDOM_SAMPLE}."
        )
    return text


def _ranked_only(fit: Fit, prior: Rate, ranking: Ranking) -> Findings:
    """Findings where the labelled rows contradict the prior: the order of the rows, no more."""
    signal, labelled = fit.training["signal"], fit.training["rows_labeled"]
    area = words.estimate(signal["area"], (signal["low"], signal["high"]))
    answer = [
        (f"{prior.name} (estimate contradicted by the labels)", words.number(prior.value)),
        ("ROC AUC of held-out labelled against unlabelled rows", area),
        ("Labelled rows", words.count(labelled)),
    ]
    return Findings("", answer, ("", ""), groups=[], rankings=[ranking], rates=[])


def _prior(machine: BaseEstimator, name: str) -> Rate:
    interval = machine.prior_interval_
    title = f"Share of '{name}' among the unlabelled rows"
    if interval is None:
        return Rate(title, float(machine.prior_), None, f"Given with {ref('prior')}.")
    return Rate(
        title,
        float(machine.prior_),
        (float(interval[0]), float(interval[1])),
        "Estimated from the rows. This assumes that the labelled rows are a random sample of "
        f"all '{name}' rows, and that some other rows are clearly different. The interval "
        "covers chance only, not a wrong assumption.",
    )


def _rates(
    hidden: Hidden,
    marked: int,
    n_unlabelled: int,
    name: str,
    prior: Rate,
    quantiles: FloatArray | None,
) -> tuple[list[Rate], list[str]]:
    """Precision and recall of the marked rows, as hidden labels and the prior say."""
    if not hidden.n:
        return [], [f"Error rates are unknown: {hidden.reason}"]
    if not marked:
        return [], ["No unlabelled row is predicted positive, so there are no error rates."]
    found = promise(prior.value, quantiles, hidden.found, hidden.n, marked, n_unlabelled)
    of_what = (
        f"{words.count(hidden.found)} of {words.count(hidden.n)} labelled rows are found if "
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
    return [precision, Rate(title, found.recall, found.recall_interval, of_what, "recall")], []


def _ranking(
    fit: Fit, scores: FloatArray, order: IntArray, name: str, chances: bool = True
) -> Ranking:
    ranked = np.argsort(-scores, kind="stable")
    best, sizes = first_of_equal(fit.X[order], ranked, _LISTED)
    order, scores = order[best], scores[best]
    columns: RankingColumns = {"score": scores}
    if chances and hasattr(fit.estimator, "predict_proba"):
        columns["probability"] = fit.estimator.predict_proba(fit.X[order])[:, 1]
    columns |= alike(sizes)
    columns["why"] = reasons(fit, fit.trained, order, 1.0)
    return Ranking(
        f"Unlabelled rows most like '{name}'",
        f"The {sizes.sum()} unlabelled rows most likely to be '{name}', the likeliest "
        f"first.{tie_words(sizes)} 'fewlabels predict' scores all rows.",
        fit.table(fit.trained, order, columns),
    )
