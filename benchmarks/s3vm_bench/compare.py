"""Means, ranks and paired comparisons of results over splits and sets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from .data import SETS
from .methods import METHODS

# Every name that a method gives, with the method's entry.
GIVEN = {given: method for name, method in METHODS.items() for given in method.gives or (name,)}


class Results:
    """Errors by set, method and split.

    Parameters
    ----------
    records : list of dict
        With "set", "split", "method", and "error" where the method succeeded.
    """

    def __init__(self, records):
        # A file may hold results of methods that the table has no more.
        self.records = [r for r in records if r["set"] in SETS and r["method"] in GIVEN]
        self.of = {(r["set"], r["split"], r["method"]): r for r in self.records if "error" in r}
        self.sets = [s for s in SETS if any(key[0] == s for key in self.of)]
        self.methods = [m for m in GIVEN if any(key[2] == m for key in self.of)]

    def splits(self, name):
        """Splits of a set on which anything succeeded."""
        return sorted({key[1] for key in self.of if key[0] == name})

    def values(self, name, method, key="error"):
        """One value per split of the set, NaN where there is none."""
        return np.array([
            self.of.get((name, split, method), {}).get(key, np.nan) for split in self.splits(name)
        ], dtype=float)  # fmt: skip

    def mean(self, name, method, key="error"):
        """Mean over splits; NaN unless every split has a value.

        A mean over fewer splits than the others' would compare different problems.
        """
        return float(np.mean(self.values(name, method, key)))

    def table(self, methods, key="error"):
        """Means, shape (sets, methods)."""
        return np.array([[self.mean(s, m, key) for m in methods] for s in self.sets])

    def in_groups(self, *groups, complete=False):
        """Methods of these groups; ``complete``: those with a mean on every set."""
        found = [m for m in self.methods if GIVEN[m].group in groups]
        if complete:
            found = [m for m in found if all(np.isfinite(self.mean(s, m)) for s in self.sets)]
        return found


@dataclass(frozen=True)
class Duel:
    """One method against another on one set.

    Attributes
    ----------
    difference : float
        The other's mean error minus ours: positive where ours is better.
    outcome : {"ahead", "level", "behind"}
        Ours; "level" where zero is within the 95 % interval of a paired t-test over the
        splits, or there is one split only.
    """

    difference: float
    outcome: str


def duel(results, name, ours, other):
    """Paired over the splits that both have; None without any."""
    difference = results.values(name, other) - results.values(name, ours)
    difference = difference[np.isfinite(difference)]
    if not len(difference):
        return None
    mean, n = float(difference.mean()), len(difference)
    if n < 2 or mean == 0:
        return Duel(mean, "level")
    width = stats.t.ppf(0.975, n - 1) * difference.std(ddof=1) / n**0.5
    if abs(mean) <= width:
        return Duel(mean, "level")
    return Duel(mean, "ahead" if mean > 0 else "behind")


def tally(results, ours, other):
    """Sets ahead, level, behind, and the mean difference over sets, in points."""
    duels = [duel(results, name, ours, other) for name in results.sets]
    duels = [d for d in duels if d is not None]
    counts = [sum(d.outcome == o for d in duels) for o in ("ahead", "level", "behind")]
    return [*counts, 100 * float(np.mean([d.difference for d in duels]))] if duels else None


def ranks(errors):
    """Mean rank of each column, 1 the smallest error; ties share."""
    return np.mean([stats.rankdata(row) for row in errors], axis=0)


def standing(results, ours, others):
    """What is to be said of one method against others: a list of sentences, one per set."""
    lines = []
    for name in results.sets:
        mean = results.mean(name, ours)
        rivals = {m: results.mean(name, m) for m in others}
        rivals = {m: value for m, value in rivals.items() if np.isfinite(value)}
        if not np.isfinite(mean) or not rivals:
            continue
        best = min(rivals, key=rivals.get)
        outcome = {m: duel(results, name, ours, m).outcome for m in rivals}
        beaten = sum(o == "ahead" for o in outcome.values())
        better = [m for m, o in outcome.items() if o == "behind"]
        points = 100 * (mean - rivals[best])
        if beaten == len(rivals):
            place, verdict = 0, f"wins, ahead of all {len(rivals)}"
        elif better:
            place = 3
            verdict = f"loses to {len(better)} of {len(rivals)}, ahead of {beaten}"
        elif points <= 0:
            place, verdict = 1, f"best on average, ahead of {beaten} of {len(rivals)}"
        else:
            place = 2
            verdict = (
                f"worse than the best by {points:.1f} points on average, which is within the "
                f"scatter of {len(results.splits(name))} splits; ahead of {beaten} of "
                f"{len(rivals)}"
            )
        text = (
            f"* {name}: {100 * mean:.1f} % against {100 * rivals[best]:.1f} % of the best "
            f"({best}); {verdict}."
        )
        lines.append((place, text))
    return lines
