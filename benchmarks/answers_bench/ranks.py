"""Mean ranks over data sets and the difference between them that chance explains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Ranking:
    """Methods by their mean rank.

    Attributes
    ----------
    names : list of str
        Methods, the best first.
    mean : ndarray
        Mean ranks over the sets; 1 is best, ties share.
    n_sets : int
        Number of sets.
    p_value : float
        Of Friedman's test that all are alike.
    critical : float
        Difference of mean ranks beyond which two methods differ at 5 % (Nemenyi's test;
        Demsar 2006, Statistical comparisons of classifiers over multiple data sets, JMLR 7).
    """

    names: list
    mean: np.ndarray
    n_sets: int
    p_value: float
    critical: float


def ranking(scores, names):
    """Rank methods.

    Parameters
    ----------
    scores : ndarray of shape (n_sets, n_methods)
        Greater is better.
    names : sequence of str
        Methods.
    """
    scores = np.round(np.asarray(scores, dtype=float), 6)  # rounding decides no rank
    n, k = scores.shape
    mean = stats.rankdata(-scores, axis=1).mean(axis=0)
    order = np.argsort(mean, kind="stable")
    spread = stats.studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2.0)
    p_value = stats.friedmanchisquare(*scores.T).pvalue if k > 2 and n > 1 else np.nan
    return Ranking(
        [names[j] for j in order], mean[order], n, float(p_value),
        float(spread * np.sqrt(k * (k + 1) / (6.0 * n))),
    )  # fmt: skip


def cliques(found):
    """Longest runs of methods that do not differ: pairs of first and last place."""
    runs, reached = [], -1
    for first in range(len(found.names)):
        last = int(np.flatnonzero(found.mean <= found.mean[first] + found.critical)[-1])
        if last > max(first, reached):
            runs.append((first, last))
            reached = last
    return runs


def draw(ax, found, title, ours, colours):
    """Critical-difference picture: methods at their mean rank, bars over those alike.

    Parameters
    ----------
    ours : callable
        Whether a method is ours.
    colours : tuple of str
        Of ours and the others.
    """
    k = len(found.names)
    for place, (name, rank) in enumerate(zip(found.names, found.mean, strict=True)):
        colour = colours[0] if ours(name) else colours[1]
        ax.plot([1, rank], [place, place], color=colour, linewidth=1.0, alpha=0.4)
        ax.plot(rank, place, "o", color=colour, markersize=7)
        ax.annotate(f"{rank:.2f}", (rank, place), xytext=(8, -3), textcoords="offset points",
                    fontsize=9)  # fmt: skip
    for shift, (first, last) in enumerate(cliques(found)):
        y = k - 0.3 + 0.35 * shift
        ax.plot(found.mean[[first, last]], [y, y], color="black", linewidth=3,
                solid_capstyle="butt")  # fmt: skip
    y = k + 0.35 * (len(cliques(found)) + 0.4)
    ax.plot([1, 1 + found.critical], [y, y], color="0.5", linewidth=1.5)
    ax.annotate(f"critical difference {found.critical:.2f}", (1 + found.critical, y),
                xytext=(5, -3), textcoords="offset points", fontsize=8, color="0.3")  # fmt: skip
    ax.set_yticks(range(k), found.names)
    ax.set_ylim(y + 0.6, -0.7)
    ax.set_xlim(0.9, k + 0.6)
    ax.set_xlabel(f"mean rank over {found.n_sets} sets, 1 is best; black bars: alike at 5 %")
    ax.set_title(title, loc="left", fontsize=11)
    ax.spines[["top", "right"]].set_visible(False)
