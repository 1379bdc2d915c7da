"""What methods scored on folds, and what follows with one of them in the place of ours."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...base.task import Task
from ...baselines.methods import ComparedMethod
from .folds import Scores, Timing
from .result import BaselineComparison
from .verdict import compare_scores, half_width_factor, make_differences

UNFINISHED = "not finished in time"
_COLUMNS = ["name", "ours", "score", "low", "high", "seconds", "note"]


@dataclass(eq=False)
class MethodComparison:
    """Scores of methods for a ``task`` on folds, and the result that follows from them.

    ``measure`` names the score and the rows it is from, and ``is_ranked`` says whether it ranks
    the methods. ``scores`` have ours first; they are None if there are none, and ``why_not``
    says why. ``finish`` fills ``Scores`` in: with means and errors, notes and a
    protocol.
    """

    task: Task
    measure: str
    is_ranked: bool = True
    scores: Scores | None = None
    finish: Callable[[Scores], None] | None = None
    why_not: str = ""

    @property
    def is_scored(self) -> bool:
        """Return whether the methods can be ranked."""
        return bool(self.scores is not None and self.scores.running and self.is_ranked)

    def preferred(self, *, clearly: bool = False) -> ComparedMethod | None:
        """Return the method to deliver: ours, unless one that can be a model is better.

        Methods have to be clearly better, or to have a higher score on as many folds as their
        lead needs (``clearly``: all have to be clearly better). Of several the one with the
        highest score, such that no other is better than it. If only methods that can't be models
        are clearly better, the highest-scoring model is taken.
        """
        if self.scores is None:
            return None
        place = 0
        while self.is_scored:
            scores = self._with_winner(place)
            table, method = self._differences(scores), {m.name: m for m in scores.methods}
            ahead = table[table["ahead"]]
            ahead_methods = [method[name] for name in ahead["name"]]
            folds = 0 if clearly else len(scores.folds)
            is_free = np.array([folds >= m.folds_to_lead for m in ahead_methods], bool)
            is_model = np.array([bool(m.key) for m in ahead_methods], bool)
            better = ahead["clear"].to_numpy(bool) | is_free
            if not better.any():
                break
            models = ahead[better & is_model] if (better & is_model).any() else ahead[is_model]
            if models.empty:
                break
            best = method[models["name"].iloc[0]]  # the difference is the greatest
            place = self.scores.methods.index(best)
        return self.scores.methods[place]

    def result(self, search: Timing, method: ComparedMethod | None = None) -> BaselineComparison:
        """Return the ``BaselineComparison`` with a method, by default ours, in the place of ours.

        ``search`` has the seconds that the comparison took, and what ended it early.
        """
        if self.scores is None:
            return self._make_result(search, f"Nothing could be compared: {self.why_not}.")
        scores = self._with_winner(0 if method is None else self.scores.methods.index(method))
        names = [scores.methods[k].name for k in scores.running]
        table = _make_table(scores, self.is_scored)
        if not names:
            ended = _END_IN_WORDS.get(search.stopped, search.stopped)
            verdict = f"Nothing could be compared before {ended} ended the comparison."
            return self._make_result(search, verdict, scores, table=table)
        if not self.is_scored:
            assert scores.agreement is not None  # it is what such a comparison has
            verdict = _describe_agreement(
                scores.agreement, explain_missing(scores, search.stopped)
            )
            return self._make_result(search, verdict, scores, table=table)
        differences = self._differences(scores)
        outcome, verdict, worse_than = compare_scores(
            differences,
            float(scores.mean[0]),
            self.task.format_score,
            self.task.score,
            explain_missing(scores, search.stopped),
        )
        clearly = differences["name"][differences["ahead"] & differences["clear"]]
        keys = {method.name: method.key for method in scores.methods}
        return self._make_result(
            search,
            f"{names[0]}: {verdict} {scores.caution}".rstrip(),
            scores,
            table=table,
            differences=differences,
            outcome=outcome,
            worse_than=worse_than,
            offer=next((keys[name] for name in clearly if keys[name]), ""),
        )

    def _with_winner(self, place: int) -> Scores:
        assert self.scores is not None and self.finish is not None
        scores = self.scores if place == 0 else self.scores.with_winner(place)
        self.finish(scores)
        return scores

    @staticmethod
    def _differences(scores: Scores) -> pd.DataFrame:
        names = [scores.methods[k].name for k in scores.running]
        return make_differences(names, scores.mean, scores.difference_error, len(scores.folds))

    def _make_result(
        self,
        search: Timing,
        verdict: str,
        scores: Scores | None = None,
        table: pd.DataFrame | None = None,
        **values: Any,
    ) -> BaselineComparison:
        """Return the comparison, with the fields that all of them have."""
        protocol = "" if scores is None else scores.protocol
        running = [] if scores is None else [scores.methods[k].name for k in scores.running]
        if scores is not None and running:
            left_out = [m.name for m in scores.methods if m.name not in running]
            protocol += f" Not compared: {', '.join(left_out)}." * bool(left_out)
        if scores is not None and scores.stop_reason:
            protocol += f" It used no more folds, because {scores.stop_reason}."
        if search.stopped:
            protocol += f" It was ended early by {search.stopped}."
        values = {
            "differences": make_differences(["ours"], np.zeros(1), np.zeros(1), 1),
            "outcome": "unknown",
            "worse_than": [],
            **values,
        }
        return BaselineComparison(
            table=pd.DataFrame(columns=_COLUMNS) if table is None else table,
            measure=self.measure,
            verdict=verdict,
            protocol=protocol,
            stopped=search.stopped,
            seconds=search.seconds,
            agreement=None if scores is None else scores.agreement,
            disagreements=None if scores is None else scores.disagreements,
            folds=0 if scores is None else len(scores.folds),
            rows=0 if scores is None else scores.rows,
            details=self,
            **values,
        )


# What may end a comparison, in a sentence.
_END_IN_WORDS = {"time budget": "the time budget", "Ctrl-C": "Ctrl-C"}


def explain_missing(scores: Scores, stopped: str) -> str:
    """Return why no baseline of ``Scores`` ran: the first error of a method, or ``stopped``."""
    failures = scores.failures[1:]
    if not failures:
        return "no other method takes these rows"
    unfinished = failures.count("")
    in_time = f"finished before {_END_IN_WORDS.get(stopped, 'its end')} ended the comparison"
    if unfinished == len(failures):
        return f"none {in_time}"
    place = next(k for k, why in enumerate(failures) if why)
    first = f"{scores.methods[1 + place].name} {failures[place].rstrip('.')}"
    others = len(failures) - unfinished - 1
    more = f" ({others} other{'s' * (others > 1)} failed, too)" if others else ""
    return first + more + (f", and {unfinished} never {in_time}" if unfinished else "")


def _describe_agreement(agreement: pd.DataFrame, why: str) -> str:
    """Return the verdict if nothing ranks the detectors; ``why`` no other detector ran."""
    others = agreement.iloc[1:]
    verdict = "Without known anomalies, detectors can't be ranked"
    others = others.dropna()
    if others.empty:
        return f"{verdict}, and no other detector could be compared: {why}."
    nearest = others.loc[others["rank_correlation"].idxmax()]
    farthest = others.loc[others["rank_correlation"].idxmin()]
    return (
        f"{verdict}; ranks agree most with {nearest['name']} ({nearest['rank_correlation']:.2f}) "
        f"and least with {farthest['name']} ({farthest['rank_correlation']:.2f})."
    )


def _make_table(scores: Scores, scored: bool) -> pd.DataFrame:
    """Return the table of a comparison, the best method first."""
    lines, half = [], half_width_factor(len(scores.folds))
    for place, method in enumerate(scores.methods):
        note = scores.failures[place] or scores.notes.get(place, "")
        score = low = high = np.nan
        if place not in scores.running:
            note = note or UNFINISHED
        elif scored:
            at = scores.running.index(place)
            score, apart = scores.mean[at], half * scores.error[at]
            ends = score - apart, score + apart
            low, high = ends if scores.ends is None else scores.ends[at]
        seconds = np.mean(scores.seconds[place]) if scores.seconds[place] else np.nan
        lines.append([method.name, place == 0, score, low, high, seconds, note])
    table = pd.DataFrame(lines, columns=_COLUMNS)
    table = table.sort_values("score", ascending=False, ignore_index=True, kind="stable")
    shown = ["score", "low", "high"]
    return table.assign(**table[shown].astype(float).clip(0.0, 1.0))
