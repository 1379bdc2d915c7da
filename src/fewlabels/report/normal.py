"""What a report says of a machine that knows one class."""

import numpy as np

from ..estimators import SVDDEnsemble
from ..io.errors import UserError
from ..metrics import benjamini_hochberg
from ..model_selection.tuning.result import trim_of
from .contents import Findings, Group, Ranking, Rate
from .evidence.held_out import counted
from .evidence.intervals import threshold_interval
from .page import words
from .reasons import reasons
from .ties import alike, first_of_equal, told

_LISTED = 20
# Classes that were not learnt from and have a picture of their own.
_MOST_CLASSES = 5
# Share of normal rows among those that stand out.
_FALSE = 0.1


def find(fit):
    """Findings about rows of one class."""
    scores, normal = fit.decisions, fit.training.get("normal")
    name = "training rows" if normal is None else f"rows labelled '{normal}'"
    groups = [Group(name, scores, "Scored by the machine that was trained on them.")]
    rates, notes, rankings, answer, blank = [], [], [], [], None
    expected = _calibration(fit, groups, notes)
    if expected is not None:
        rates.append(expected)
    for title, rows in _others(fit, notes):
        found = fit.estimator.decision_function(rows.X)
        groups.append(Group(title, found, "Not trained on."))
        if title != _BLANK:
            rates.append(_caught(title, found))
            continue
        rankings.append(_strangest(fit, rows, found, title))
        blank = words.of_all(int(np.count_nonzero(found < 0)), len(found))
        answer.append(("Rows without a label outside", blank))
        if expected is not None:
            answer.append(_standing_out(fit, rows))
    rankings.append(_strangest(fit, _scored(fit), scores, name))
    outside = words.of_all(int(np.count_nonzero(scores < 0)), len(scores))
    answer.append((f"{words.capital(name)} outside", outside))
    answer += [(rate.name, words.estimate(rate.value, rate.interval)) for rate in rates]
    return Findings(
        headline=_headline(fit, outside, expected, blank),
        answer=answer,
        sides=("outside", "inside"),
        groups=groups,
        rankings=rankings,
        rates=rates,
        notes=tuple(notes),
    )


def _headline(fit, outside, expected, blank):
    told = (
        f"A boundary was drawn around {words.rows(fit.X.shape[0])} taken as normal"
        f"{_drawn_by(fit.estimator)}. {outside} lie outside it."
    )
    if expected is not None:
        told += (
            f" It was set so that about {words.percent(expected.value)} of normal rows do, so "
            "this number alone does not mean that something is wrong with them."
        )
    if blank is not None:
        told += f" Of the rows without a label {blank} lie outside."
    return f"{told} Look at the strangest first."


def _drawn_by(machine):
    """Which rows trained it, where some were left out."""
    if isinstance(machine, SVDDEnsemble) and machine.trim:
        if machine.trim == "auto":
            return (
                f" by {len(machine.bags_)} samples of them. Samples drop their most distant "
                "rows as far as the data call for it, since anomalies may be among these (--clean "
                "uses all)"
            )
        return (
            f" by {len(machine.bags_)} samples of them, each without the "
            f"{words.percent(machine.trim)} of its rows that lie farthest from the others, since "
            "anomalies may be among these (--clean uses all)"
        )
    trim = trim_of(machine)
    if not trim:
        return ""
    return (
        f", by the {words.percent(1.0 - trim)} of them that lie nearest to their neighbours, "
        "since anomalies may be among the others (--clean uses all)"
    )


# -- the rate of false alarms --------------------------------------------------------------------


def _calibration(fit, groups, notes):
    """The rate that follows from the rows that calibrate; None without. Adds their scores."""
    machine = fit.estimator
    if machine.target_fpr is None:
        notes.append(
            "No threshold was calibrated (--target-fpr none): how many new normal rows will be "
            "called outside is not known."
        )
        return None
    conformal = machine.conformal_
    n, target, rank = len(conformal.scores), conformal.rate, conformal.rank
    if n < fit.X.shape[0]:
        title, how = "kept out of training", f"{words.rows(n)} that were kept out of training"
    else:
        title = "each as if it had not been trained on"
        how = f"all {words.rows(n)}, each scored as if it had not been trained on"
    # What ``predict`` would have written for these rows.
    held = conformal.as_scored(conformal.scores) - float(np.ravel(machine.offset_)[0])
    groups.append(Group(f"The same, {title}", held, "New normal rows will look like this."))
    if not rank:
        notes.append(
            f"{words.rows(n)} are too few for a rate of {words.percent(target)}: no row will be "
            "called outside."
        )
    return Rate(
        "New normal rows called outside",
        rank / (n + 1),
        threshold_interval(rank, n) if rank else None,
        f"Asked for (--target-fpr {target:g}); the threshold was set on {how}.",
    )


# -- rows that were not trained on ---------------------------------------------------------------

_BLANK = "rows without a label"


def _others(fit, notes):
    """Rows of the file that are not of the class learnt from, by what they are."""
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
            notes.append(f"{words.capital(title)} are not in this report: {error}")
            continue
        if len(rows.numbers):
            yield title, rows


def _standing_out(fit, rows):
    """How many rows can be reported so that few of them are normal."""
    found = int(benjamini_hochberg(fit.estimator.p_values(rows.X), q=_FALSE).sum())
    name = "Rows without a label that stand out"
    if not found:
        return name, f"none, if at most {words.percent(_FALSE)} of those reported may be normal"
    return name, f"{words.count(found)}; about {words.percent(_FALSE)} of these may be normal"


def _caught(title, scores):
    outside = int(np.count_nonzero(scores < 0))
    told = "rows of the file, not trained on."
    return counted(f"{words.capital(title)} called outside", outside, len(scores), told)


# -- rows to look at -----------------------------------------------------------------------------


def _scored(fit):
    """The training rows that are scored."""
    rows, order = fit.trained, fit.scored
    if not fit.is_sampled:
        return rows
    inputs = rows.inputs.iloc[order] if hasattr(rows.inputs, "iloc") else rows.inputs[order]
    return rows._replace(inputs=inputs, X=rows.X[order], numbers=rows.numbers[order])


def _strangest(fit, rows, scores, name):
    # Decisions of rows far away are equal; their scores before the threshold are not.
    ranks = fit.estimator.score_samples(rows.X)
    order, sizes = first_of_equal(rows.X, np.argsort(ranks, kind="stable"), _LISTED)
    columns = {}
    those = "those trained on" if name == _BLANK else "the others"
    text = f"The {sizes.sum()} {name} that are least like {those}, the strangest first."
    text += told(sizes)
    if name.startswith("rows labelled"):
        text += " If a label is wrong, the row is probably here."
    if fit.estimator.target_fpr is not None:
        columns["p-value"] = fit.estimator.p_values(rows.X[order])
        text += " The p-value is the share of normal rows that look at least as strange."
        if name != _BLANK:
            text += " These rows were trained on, which makes it rather too high than too low."
    else:
        # With a narrow kernel the scores of odd rows differ in digits that nobody reads.
        columns["score"] = scores[order]
    columns |= alike(sizes)
    columns["why"] = reasons(fit, rows, order, -1.0)
    return Ranking(f"The strangest {name}", text, fit.table(rows, order, columns))
