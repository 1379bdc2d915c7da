"""Cases with a known truth, in two halves of settings, and their tables."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm

N_UNLABELLED = 1000
# Labels of each class where they are skewed.
_SKEWED = (60, 5)


class Half(NamedTuple):
    """Settings of one half: ``areas`` are ROC AUCs of the best score, none to strong signal."""

    columns: int
    areas: tuple[float, float, float, float]
    prior_areas: tuple[float, ...]
    priors: tuple[float, ...]
    shares: tuple[float, float, float]
    labels: tuple[int, int]
    few: tuple[int, int]
    rows: tuple[int, int]


HALVES = {
    "chosen": Half(
        6, (0.5, 0.65, 0.8, 0.95), (0.5, 0.6, 0.7, 0.8, 0.9, 0.97),
        (0.02, 0.07, 0.2, 0.5, 0.8, 0.95), (0.03, 0.2, 0.5), (40, 120), (24, 60), (100, 400),
    ),
    "shown": Half(
        10, (0.5, 0.7, 0.85, 0.93), (0.5, 0.65, 0.75, 0.85, 0.93),
        (0.02, 0.05, 0.12, 0.4, 0.7, 0.95), (0.05, 0.12, 0.4), (30, 80), (30, 80), (150, 600),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A setting and the number of its draw; ``area`` is the ROC AUC of the best linear score."""

    part: str
    area: float
    share: float  # of positives among unlabelled rows, of the rare class, or of anomalies
    n_labels: int
    labels: str  # "random", "equal", "skewed", "biased" or "clean"
    repeats: int  # of every row
    draw: int
    half: str

    @property
    def rng(self) -> np.random.Generator:
        """Generator that depends on the case alone."""
        parts = (self.area, self.share, self.n_labels, self.repeats, self.draw)
        return np.random.default_rng([round(1000 * part) for part in parts])


def cases(parts: list[str], halves: list[str], draws: int) -> list[Case]:
    """Return all cases, the first draw of every setting before the second of any."""
    return [
        Case(part, *setting, draw, half)
        for draw in range(draws)
        for half in halves
        for part in parts
        for setting in _settings(HALVES[half])[part]
    ]


def _settings(half: Half) -> dict[str, list[tuple[float, float, int, str, int]]]:
    """Area, share, number of labels, kind of labels and repeats of all settings of a half."""
    none, _, moderate, strong = half.areas
    useful, once, random = (moderate, strong), (1,), ("random",)
    rare, *_, frequent = half.shares
    of_priors = [p for p in half.priors if p != half.priors[3]]
    n_skewed = (sum(_SKEWED),)
    return {
        "prior": [*product(half.prior_areas, half.priors, (30, 120), random, once)],
        "positives": [
            *product(half.areas, of_priors, half.labels, random, once),
            *product(useful, half.priors[1:3], half.labels, ("biased",), once),
            *product((none, moderate), half.priors[2:3], half.labels[:1], random, (3,)),
        ],
        "classes": [
            *product(half.areas, half.shares, half.few, ("random", "equal"), once),
            *product((none, moderate), (frequent,), half.few[:1], random, (2, 3)),
            *product(useful, (rare + 0.25, 0.7), n_skewed, ("skewed",), once),
        ],
        "one-class": [
            *product((strong,), (0.0,), half.rows, ("clean", "unknown"), once),
            *product((strong,), (0.02, 0.1), half.rows, ("unknown",), once),
            *product((strong,), (0.0,), half.rows, ("unknown",), (3,)),
        ],
    }


def rows_of(case: Case, rng: np.random.Generator, positive: np.ndarray) -> np.ndarray:
    """Draw Gaussian rows in which the best score of ``positive`` rows has the case's ROC AUC."""
    n_columns = HALVES[case.half].columns
    shift = np.sqrt(2.0 / n_columns) * norm.ppf(case.area)
    return rng.normal(size=(len(positive), n_columns)) + shift * positive[:, None]


def labelled_positives(case: Case, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows and hidden truth; the first ``n_labels`` rows are the labelled positives."""
    truth = rng.random(N_UNLABELLED // case.repeats) < case.share
    n_known = max(2, case.n_labels // case.repeats)
    if case.labels == "biased":  # twice as many to draw from, and the obvious half is labelled
        known = rows_of(case, rng, np.ones(2 * n_known, bool))
        known = known[np.argsort(-known.sum(axis=1), kind="stable")[:n_known]]
    else:
        known = rows_of(case, rng, np.ones(n_known, bool))
    X = np.vstack([known, rows_of(case, rng, truth)])
    truth = np.r_[np.ones(n_known, bool), truth]
    return np.repeat(X, case.repeats, axis=0), np.repeat(truth, case.repeats)


def few_labels(case: Case, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, hidden truth and which rows have a label."""
    n = (N_UNLABELLED // 2 + case.n_labels) // case.repeats
    truth = rng.random(n) < case.share
    n_known = max(4, case.n_labels // case.repeats)
    fewest = {"equal": n_known // 2, "skewed": _SKEWED[0]}.get(case.labels, 2)
    truth[:fewest], truth[fewest : 2 * fewest] = True, False
    order = rng.permutation(n)
    if case.labels == "skewed":
        known = np.r_[np.flatnonzero(truth)[: _SKEWED[0]], np.flatnonzero(~truth)[: _SKEWED[1]]]
    elif case.labels == "equal":
        known = np.r_[np.flatnonzero(truth)[:fewest], np.flatnonzero(~truth)[:fewest]]
    else:  # at random, two of each class at least
        known = np.r_[np.arange(2), fewest + np.arange(2), 2 * fewest + np.arange(n_known - 4)]
    is_known = np.isin(np.arange(n), known)
    X = rows_of(case, rng, truth)
    return tuple(np.repeat(a[order], case.repeats, axis=0) for a in (X, truth, is_known))


def table_of(X: np.ndarray, y: np.ndarray) -> pd.DataFrame:
    """Rows and labels as a data frame."""
    return pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])]).assign(answer=y)
