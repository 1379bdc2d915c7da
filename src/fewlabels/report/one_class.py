"""What a report says of a model that knows one class."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator

from .._typing import FloatArray
from .._util.messages import UserError, ref
from ..metrics import benjamini_hochberg
from ..model_selection.tuning.result import left_out_share
from ..one_class.base import count_outside
from .contents import Findings, Group, Ranking, Rate
from .evidence.held_out import make_counted_rate
from .evidence.intervals import threshold_interval
from .fit import Fit, RankingColumns, ReportRows
from .page import words
from .rankings import count_equal_rows, describe_ties, merge_equal_rows
from .reasons import explain_rows

_ROWS_LISTED = 20
# Classes that were not learnt from and have a picture of their own.
_MAX_CLASSES = 5
# Share of normal rows among those that stand out.
_TARGET_FDR = 0.1


def find(fit: Fit) -> Findings:
    """Return findings about rows of one class."""
    scores, normal = fit.decisions, fit.training.get("normal")
    name = "training rows" if normal is None else f"rows labelled '{normal}'"
    groups = [Group(name, scores, "Scored by the model that was trained on them.")]
    rates: list[Rate] = []
    notes: list[str] = []
    rankings: list[Ranking] = []
    answer: list[tuple[str, str]] = []
    unlabelled_outside = None
    false_alarms = _estimate_false_alarms(fit, name, groups, notes)
    if false_alarms is not None:
        rates.append(false_alarms)
    for title, rows in _read_untrained_rows(fit, notes):
        found = fit.estimator.decision_function(rows.X)
        groups.append(Group(title, found, "Not used for training."))
        if title != _UNLABELLED:
            rates.append(_rate_outside(title, found))
            continue
        rankings.append(_rank_strangest(fit, rows, found, title))
        unlabelled_outside = words.of_all(int(np.count_nonzero(found < 0)), len(found))
        answer.append(("Unlabelled rows outside", unlabelled_outside))
        if false_alarms is not None:
            answer.append(_count_discoveries(fit, rows))
    rankings.append(_rank_strangest(fit, _select_scored_rows(fit), scores, name))
    found = count_outside(fit.estimator, fit.X[fit.scored_rows])
    share_outside = words.of_all(found.outside, found.counted)
    answer.append((f"{words.capital(name)} outside", share_outside))
    answer += [(rate.name, words.rate(rate)) for rate in rates]
    return Findings(
        headline=_write_headline(fit, share_outside, false_alarms, unlabelled_outside),
        answer=answer,
        sides=("outside", "inside"),
        groups=groups,
        rankings=rankings,
        rates=rates,
        notes=tuple(notes),
    )


def _write_headline(
    fit: Fit, share_outside: str, false_alarms: Rate | None, unlabelled_outside: str | None
) -> str:
    sentence = (
        f"The model describes {words.rows(fit.X.shape[0])} that count as "
        f"normal{_describe_trimming(fit.estimator)}. {share_outside} lie outside its boundary."
    )
    if false_alarms is not None:
        share = words.value(false_alarms)
        share = share if false_alarms.is_bound else f"about {share}"
        sentence += (
            f" {words.capital(share)} of normal rows are expected to, so this number alone is no "
            "sign of anomalies."
        )
    if unlabelled_outside is not None:
        sentence += f" {unlabelled_outside} of the unlabelled rows lie outside."
    return f"{sentence} Check the strangest rows first."


def _describe_trimming(estimator: BaseEstimator) -> str:
    """Describe the rows that were trained on, if some were left out."""
    if getattr(estimator, "trim", 0.0):
        if estimator.trim == "auto":
            return (
                f" with {len(estimator.bags_)} random samples. Samples drop their most distant "
                "rows if the data suggest it, because these may be anomalies "
                f"({ref('clean', True)} uses all rows)"
            )
        return (
            f" with {len(estimator.bags_)} random samples. Each sample drops its most distant "
            f"{words.percent(estimator.trim)} of rows, because these may be anomalies "
            f"({ref('clean', True)} uses all rows)"
        )
    trim = left_out_share(estimator)
    if not trim:
        return ""
    return (
        f" with the {words.percent(1.0 - trim)} closest to their neighbours, because the others "
        f"may be anomalies ({ref('clean', True)} uses all rows)"
    )


# -- the rate of false alarms --------------------------------------------------------------------


def _estimate_false_alarms(
    fit: Fit, name: str, groups: list[Group], notes: list[str]
) -> Rate | None:
    """Estimate the false alarm rate from the calibration rows, and add their scores.

    These stand for the rows with this ``name`` in the first picture.
    """
    estimator = fit.estimator
    if estimator.target_fpr is None:
        notes.append(
            f"No threshold was calibrated ({ref('target_fpr', 'none')}), so the false alarm rate "
            "is unknown."
        )
        return None
    conformal = estimator.conformal_
    n, target, rank = len(conformal.scores), conformal.rate, conformal.rank
    if n < fit.X.shape[0]:
        title, how = "held out from training", f"{words.rows(n)} held out from training"
    else:
        title = "with leave-one-out scores"
        how = f"all {words.rows(n)}, with leave-one-out scores"
    # What ``predict`` would have written for these rows.
    held = conformal.as_scored(conformal.scores) - float(np.ravel(estimator.offset_)[0])
    groups[0] = replace(groups[0], in_overview=False)
    groups.append(Group(f"{name}, {title}", held, "New normal rows will score like this."))
    if not rank:
        notes.append(
            f"{words.rows(n)} are too few for a false alarm rate of {words.percent(target)}, so "
            "the model flags no row."
        )
    ends = threshold_interval(rank, n) if rank else None
    how = f"Set with {ref('target_fpr', target)}; the threshold is calibrated on {how}."
    is_bound = ends is not None and not fit.training.get("clean")
    if ends is not None and is_bound:
        # Anomalies among the rows that calibrate take places below the threshold, and then fewer
        # normal rows lie there. How many do isn't known, only that none are added.
        ends = 0.0, ends[1]
        how += (
            " If these rows contain anomalies, fewer normal rows are flagged "
            f"({ref('clean', True)} says that there are none)."
        )
    return Rate("False alarm rate on new normal rows", rank / (n + 1), ends, how, "", is_bound)


# -- rows that were not trained on ---------------------------------------------------------------

_UNLABELLED = "rows without a label"


def _read_untrained_rows(fit: Fit, notes: list[str]) -> Iterator[tuple[str, ReportRows]]:
    """Yield rows of the file that are not of the class learned from, by what they are."""
    labels, normal = fit.file.labels, fit.training.get("normal")
    if labels is None or normal is None:
        return
    chosen = labels.find(normal, "normal")
    kinds = [(f"rows labelled '{name}'", k) for k, name in enumerate(labels.names) if k != chosen]
    for title, k in [(_UNLABELLED, -1), *kinds[:_MAX_CLASSES]]:
        positions = np.flatnonzero(labels.index == k)
        if not len(positions):
            continue
        try:
            rows = fit.others(positions)
        except UserError as error:
            notes.append(f"This report lacks the {title}: {error}")
            continue
        if len(rows.numbers):
            yield title, rows


def _count_discoveries(fit: Fit, rows: ReportRows) -> tuple[str, str]:
    """Count the rows that can be reported so that few of them are normal."""
    found = int(benjamini_hochberg(fit.estimator.p_values(rows.X), q=_TARGET_FDR).sum())
    name = "Unlabelled rows reported as anomalies"
    if not found:
        return name, f"none, at a false discovery rate of {words.percent(_TARGET_FDR)}"
    return (
        name,
        f"{words.count(found)}, at a false discovery rate of {words.percent(_TARGET_FDR)}",
    )


def _rate_outside(title: str, scores: FloatArray) -> Rate:
    share_outside = int(np.count_nonzero(scores < 0))
    source = "rows of the file that weren't used for training."
    return make_counted_rate(
        f"{words.capital(title)} called outside", share_outside, len(scores), source
    )


# -- rows to look at -----------------------------------------------------------------------------


def _select_scored_rows(fit: Fit) -> ReportRows:
    """Return the training rows that are scored."""
    rows, order = fit.trained_rows, fit.scored_rows
    if not fit.is_sampled:
        return rows
    inputs = rows.inputs.iloc[order] if hasattr(rows.inputs, "iloc") else rows.inputs[order]
    return rows._replace(inputs=inputs, X=rows.X[order], numbers=rows.numbers[order])


def _rank_strangest(fit: Fit, rows: ReportRows, scores: FloatArray, name: str) -> Ranking:
    # Decisions of rows far away are equal; their scores before the threshold are not.
    ranks = fit.estimator.score_samples(rows.X)
    order, sizes = merge_equal_rows(rows.X, np.argsort(ranks, kind="stable"), _ROWS_LISTED)
    columns: RankingColumns = {}
    reference_rows = "the training rows" if name == _UNLABELLED else "the others"
    text = f"The {sizes.sum()} {name} least like {reference_rows}, the strangest first."
    text += describe_ties(sizes)
    if name.startswith("rows labelled"):
        text += " Rows with a wrong label are probably here."
    if fit.estimator.target_fpr is not None:
        columns["p-value"] = fit.estimator.p_values(rows.X[order])
        text += " The p-value is the share of normal rows that look at least as strange."
        if name != _UNLABELLED:
            text += " It tends to be too high here, because the model was trained on these rows."
    else:
        # With a narrow kernel the scores of odd rows differ in digits that nobody reads.
        columns["score"] = scores[order]
    columns |= count_equal_rows(sizes)
    columns["why"] = explain_rows(fit, rows, order, -1.0)
    return Ranking(f"The strangest {name}", text, fit.table(rows, order, columns))
