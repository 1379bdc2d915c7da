"""What a report says of a model that knows one class."""

from collections.abc import Iterator

import numpy as np
from sklearn.base import BaseEstimator

from .._typing import FloatArray
from .._util.messages import UserError, ref
from ..metrics import benjamini_hochberg
from ..model_selection.tuning.result import trim_of
from ..one_class.left_out import count_outside
from .contents import Findings, Group, Ranking, Rate
from .evidence.held_out import counted
from .evidence.intervals import threshold_interval
from .fit import Fit, RankingColumns, ReportRows
from .page import words
from .rankings import alike, first_of_equal, tie_words
from .reasons import reasons

_LISTED = 20
# Classes that were not learnt from and have a picture of their own.
_MOST_CLASSES = 5
# Share of normal rows among those that stand out.
_FALSE = 0.1


def find(fit: Fit) -> Findings:
    """Findings about rows of one class."""
    scores, normal = fit.decisions, fit.training.get("normal")
    name = "training rows" if normal is None else f"rows labelled '{normal}'"
    groups = [Group(name, scores, "Scored by the model that was trained on them.")]
    rates: list[Rate] = []
    notes: list[str] = []
    rankings: list[Ranking] = []
    answer: list[tuple[str, str]] = []
    blank = None
    expected = _calibration(fit, groups, notes)
    if expected is not None:
        rates.append(expected)
    for title, rows in _others(fit, notes):
        found = fit.estimator.decision_function(rows.X)
        groups.append(Group(title, found, "Not used for training."))
        if title != _BLANK:
            rates.append(_caught(title, found))
            continue
        rankings.append(_strangest(fit, rows, found, title))
        blank = words.of_all(int(np.count_nonzero(found < 0)), len(found))
        answer.append(("Unlabelled rows outside", blank))
        if expected is not None:
            answer.append(_standing_out(fit, rows))
    rankings.append(_strangest(fit, _scored(fit), scores, name))
    found = count_outside(fit.estimator, fit.X[fit.scored])
    outside = words.of_all(found.outside, found.counted)
    answer.append((f"{words.capital(name)} outside", outside))
    answer += [(rate.name, words.rate(rate)) for rate in rates]
    return Findings(
        headline=_headline(fit, outside, expected, blank),
        answer=answer,
        sides=("outside", "inside"),
        groups=groups,
        rankings=rankings,
        rates=rates,
        notes=tuple(notes),
    )


def _headline(fit: Fit, outside: str, expected: Rate | None, blank: str | None) -> str:
    sentence = (
        f"The model describes {words.rows(fit.X.shape[0])} that count as "
        f"normal{_drawn_by(fit.estimator)}. {outside} lie outside its boundary."
    )
    if expected is not None:
        share = words.value(expected)
        share = share if expected.is_bound else f"about {share}"
        sentence += (
            f" {words.capital(share)} of normal rows are expected to, so this number alone is no "
            "sign of anomalies."
        )
    if blank is not None:
        sentence += f" {blank} of the unlabelled rows lie outside."
    return f"{sentence} Check the strangest rows first."


def _drawn_by(machine: BaseEstimator) -> str:
    """Which rows trained it, where some were left out."""
    if getattr(machine, "trim", 0.0):
        if machine.trim == "auto":
            return (
                f" with {len(machine.bags_)} random samples. Samples drop their most distant rows "
                f"if the data suggest it, because these may be anomalies ({ref('clean', True)} "
                "uses all rows)"
            )
        return (
            f" with {len(machine.bags_)} random samples. Each sample drops its most distant "
            f"{words.percent(machine.trim)} of rows, because these may be anomalies "
            f"({ref('clean', True)} uses all rows)"
        )
    trim = trim_of(machine)
    if not trim:
        return ""
    return (
        f" with the {words.percent(1.0 - trim)} closest to their neighbours, because the others "
        f"may be anomalies ({ref('clean', True)} uses all rows)"
    )


# -- the rate of false alarms --------------------------------------------------------------------


def _calibration(fit: Fit, groups: list[Group], notes: list[str]) -> Rate | None:
    """The rate that follows from the rows that calibrate; None without. Adds their scores."""
    machine = fit.estimator
    if machine.target_fpr is None:
        notes.append(
            f"No threshold was calibrated ({ref('target_fpr', 'none')}), so the false alarm rate "
            "is unknown."
        )
        return None
    conformal = machine.conformal_
    n, target, rank = len(conformal.scores), conformal.rate, conformal.rank
    if n < fit.X.shape[0]:
        title, how = "held out from training", f"{words.rows(n)} held out from training"
    else:
        title = "with leave-one-out scores"
        how = f"all {words.rows(n)}, with leave-one-out scores"
    # What ``predict`` would have written for these rows.
    held = conformal.as_scored(conformal.scores) - float(np.ravel(machine.offset_)[0])
    groups.append(Group(f"The same, {title}", held, "New normal rows will score like this."))
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

_BLANK = "rows without a label"


def _others(fit: Fit, notes: list[str]) -> Iterator[tuple[str, ReportRows]]:
    """Rows of the file that are not of the class learned from, by what they are."""
    labels, normal = fit.file.labels, fit.training.get("normal")
    if labels is None or normal is None:
        return
    chosen = labels.find(normal, "normal")
    kinds = [(f"rows labelled '{name}'", k) for k, name in enumerate(labels.names) if k != chosen]
    for title, k in [(_BLANK, -1), *kinds[:_MOST_CLASSES]]:
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


def _standing_out(fit: Fit, rows: ReportRows) -> tuple[str, str]:
    """How many rows can be reported so that few of them are normal."""
    found = int(benjamini_hochberg(fit.estimator.p_values(rows.X), q=_FALSE).sum())
    name = "Unlabelled rows reported as anomalies"
    if not found:
        return name, f"none, at a false discovery rate of {words.percent(_FALSE)}"
    return name, f"{words.count(found)}, at a false discovery rate of {words.percent(_FALSE)}"


def _caught(title: str, scores: FloatArray) -> Rate:
    outside = int(np.count_nonzero(scores < 0))
    of_what = "rows of the file that weren't used for training."
    return counted(f"{words.capital(title)} called outside", outside, len(scores), of_what)


# -- rows to look at -----------------------------------------------------------------------------


def _scored(fit: Fit) -> ReportRows:
    """The training rows that are scored."""
    rows, order = fit.trained, fit.scored
    if not fit.is_sampled:
        return rows
    inputs = rows.inputs.iloc[order] if hasattr(rows.inputs, "iloc") else rows.inputs[order]
    return rows._replace(inputs=inputs, X=rows.X[order], numbers=rows.numbers[order])


def _strangest(fit: Fit, rows: ReportRows, scores: FloatArray, name: str) -> Ranking:
    # Decisions of rows far away are equal; their scores before the threshold are not.
    ranks = fit.estimator.score_samples(rows.X)
    order, sizes = first_of_equal(rows.X, np.argsort(ranks, kind="stable"), _LISTED)
    columns: RankingColumns = {}
    those = "the training rows" if name == _BLANK else "the others"
    text = f"The {sizes.sum()} {name} least like {those}, the strangest first."
    text += tie_words(sizes)
    if name.startswith("rows labelled"):
        text += " Rows with a wrong label are probably here."
    if fit.estimator.target_fpr is not None:
        columns["p-value"] = fit.estimator.p_values(rows.X[order])
        text += " The p-value is the share of normal rows that look at least as strange."
        if name != _BLANK:
            text += " It tends to be too high here, because the model was trained on these rows."
    else:
        # With a narrow kernel the scores of odd rows differ in digits that nobody reads.
        columns["score"] = scores[order]
    columns |= alike(sizes)
    columns["why"] = reasons(fit, rows, order, -1.0)
    return Ranking(f"The strangest {name}", text, fit.table(rows, order, columns))
