"""What a report says of a machine that knows two classes."""

import numpy as np

from .contents import Findings, Group, Ranking, Rate
from .held_out import counted, cross_fit_classes, group_of
from .labels import doubtful
from .page import words
from .reasons import reasons

_LISTED = 10
_RIGHT = "Answers that are right"
# Unlabelled rows that the machines of the cross-fit are asked about.
_MOST_ASKED = 20_000


def find(fit):
    """Findings about two classes and unlabelled rows."""
    training, y = fit.training, fit.y
    names = training["classes"]
    counts = training["unlabeled_predicted"]
    n_unlabelled = sum(counts.values())
    unlabelled = np.flatnonzero(y[fit.scored] < 0)[:_MOST_ASKED]
    held = cross_fit_classes(fit.estimator, fit.X, y, fit.scored[unlabelled])
    rates, notes = _rates(held, y, names, fit.comparison)
    n_labelled = int(np.sum(y >= 0))
    headline = (
        f"From {words.rows(n_labelled)} with a label, {words.rows(n_unlabelled)} without one got "
        f"a class: {_counted(counts)}."
    )
    answer = [(f"Unlabelled rows called '{k}'", words.of_all(n, n_unlabelled))
              for k, n in counts.items()]  # fmt: skip
    if rates:
        headline += (
            f" About {words.percent(rates[0].value)} of the answers for such rows should be right "
            f"({words.span(rates[0].interval)})."
        )
        answer += [(rate.name, words.estimate(rate.value, rate.interval)) for rate in rates]
    answer.append(("Rows with a label", words.listing(
        f"{words.count(int(np.sum(y == k)))} '{name}'" for k, name in enumerate(names)
    )))  # fmt: skip
    return Findings(
        headline=headline,
        answer=answer,
        sides=(f"'{names[0]}'", f"'{names[1]}'"),
        groups=_groups(fit, held, names),
        rankings=[
            *(_rankings(fit, unlabelled, held, names) if n_unlabelled else []),
            *doubtful(fit, held, dict(enumerate(names))),
        ],
        rates=rates,
        notes=tuple(notes),
    )


def _counted(counts):
    return words.listing(f"{words.count(n)} '{name}'" for name, n in counts.items())


def _rates(held, y, names, comparison):
    if held.reason:
        return [], [f"How many answers are right is not known, as {held.reason}"]
    truth, answers = y[held.rows] == 1, held.scores > 0
    n, right = len(truth), int(np.sum(truth == answers))
    told = (
        "labelled rows get their own class from machines that were trained without their labels."
    )
    rates = [_compared(comparison) or counted(_RIGHT, right, n, told)]
    for k, name in enumerate(names):
        own = truth == bool(k)
        hits, n_own = int(np.sum(answers[own] == bool(k))), int(np.sum(own))
        title = f"Rows of '{name}' that are recognised"
        rates.append(counted(title, hits, n_own, "labelled rows of this class."))
    return rates, []


def _compared(comparison):
    """The accuracy that the comparison with other methods found, so that a page has one figure."""
    if comparison is None:
        return None
    ours = comparison.table[comparison.table["ours"]].iloc[0]
    if not np.isfinite(ours[["score", "low", "high"]].to_numpy(float)).all():
        return None
    ends = float(ours["low"]), float(ours["high"])
    how = "Labelled rows held out, as in the comparison with other methods."
    return Rate(_RIGHT, float(ours["score"]), ends, how)


def _groups(fit, held, names):
    groups = [group_of(fit, held, k, f"labelled '{name}'") for k, name in enumerate(names)]
    unlabelled = fit.y[fit.scored] < 0
    if unlabelled.any():
        about = "Scored by the machine that was trained on them, without labels."
        groups.append(Group("unlabelled", fit.decisions[unlabelled], about))
    return groups


def _rankings(fit, unlabelled, held, names):
    scores, order = fit.decisions[unlabelled], fit.scored[unlabelled]
    listed = [_least_certain(fit, scores, order, held, names)]
    for name, sign in zip(names, (-1.0, 1.0), strict=True):
        of_class = np.flatnonzero(scores * sign > 0)
        if not len(of_class):
            continue
        best = of_class[np.argsort(-sign * scores[of_class], kind="stable")][:_LISTED]
        columns = _columns(fit, scores[best], order[best])
        columns["why"] = reasons(fit, fit.trained, order[best], sign)
        listed.append(
            Ranking(
                f"Most certain to be '{name}'",
                "If one of these is wrong, the labels or the columns deserve a look.",
                fit.table(fit.trained, order[best], columns),
            )
        )
    return listed


def _least_certain(fit, scores, order, held, names):
    """Unlabelled rows that machines of slightly other labels disagree on.

    Not by the machine's own scores: it keeps the rows that it was trained on away from the
    boundary.
    """
    if held.votes is None:
        doubt = np.abs(scores)
        text = "Rows without a label that are next to the boundary."
    else:
        doubt = np.abs(np.clip(held.votes, -1.0, 1.0).mean(axis=0))
        text = (
            f"Rows without a label that {held.folds} machines, each trained on a part of the "
            "labels, agree least about."
        )
    best = np.argsort(doubt, kind="stable")[:_LISTED]
    columns = {"class": [names[int(score > 0)] for score in scores[best]]}
    columns |= _columns(fit, scores[best], order[best])
    if held.votes is not None:
        with_it = (held.votes[:, best] > 0) == (scores[best] > 0)
        columns["machines that agree"] = [f"{n} of {held.folds}" for n in with_it.sum(axis=0)]
    columns["why"] = reasons(fit, fit.trained, order[best], 0.0)
    return Ranking(
        "Least certain: label these next",
        f"{text} Their labels would teach the machine most. The columns named matter most, for "
        "either class.",
        fit.table(fit.trained, order[best], columns),
    )


def _columns(fit, scores, order):
    """Scores, and probabilities of the class that each row gets."""
    columns = {"score": scores}
    if hasattr(fit.estimator, "predict_proba"):
        chances = fit.estimator.predict_proba(fit.X[order])
        columns["probability"] = np.where(scores > 0, chances[:, 1], chances[:, 0])
    return columns
