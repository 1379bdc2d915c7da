"""Random instances of problem (P), as plain arrays."""

import numpy as np

from .certificates import pieces

KINDS = (
    "box",
    "box below zero",
    "box above zero",
    "fixed",
    "half up",
    "half down",
    "free",
    "kink",
    "kink at lower",
    "kink at upper",
    "kink, no upper bound",
    "kink, no lower bound",
    "kink, no bounds",
    "flat kink",
)


def random_penalty(rng, kinds):
    """One variable of every kind in the list: (lower, kink, upper, left, right)."""
    rows = []
    for kind in kinds:
        low = float(rng.choice([0.0, -1.0, rng.normal()]))
        width = float(rng.choice([1.0, 0.1, rng.exponential()]))
        slope = float(rng.choice([0.0, 1.0, -1.0, rng.normal()]))
        bend = float(rng.choice([2.0, 0.0, rng.exponential()]))
        middle = low + width * float(rng.choice([0.5, rng.random()]))
        high = low + width
        rows.append(
            {
                "box": (low, low, high, slope, slope),
                "box below zero": (-high - 3, -high - 3, -low - 1.5, slope, slope),
                "box above zero": (2.0, 2.0, 2.0 + width, slope, slope),
                "fixed": (low, low, low, slope, slope + bend),
                "half up": (low, low, np.inf, slope, slope),
                "half down": (-np.inf, -np.inf, high, slope, slope),
                "free": (-np.inf, -np.inf, np.inf, slope, slope),
                "kink": (low, middle, high, slope - bend, slope),
                "kink at lower": (low, low, high, slope - bend, slope),
                "kink at upper": (low, high, high, slope, slope + bend),
                "kink, no upper bound": (low, middle, np.inf, slope - bend, slope),
                "kink, no lower bound": (-np.inf, middle, high, slope - bend, slope),
                "kink, no bounds": (-np.inf, middle, np.inf, slope - bend, slope),
                "flat kink": (low, middle, high, -0.0, 0.0),
            }[kind]
        )
    return tuple(np.array(column, dtype=float) for column in zip(*rows, strict=True))


def random_point(rng, penalty, spread=2.0):
    """A point of the intervals; many variables rest exactly on a breakpoint."""
    ends, _ = pieces(penalty)
    lower, upper = ends[0], ends[-1]
    anchor = np.clip(0.0, lower, upper)
    a = np.empty(len(lower))
    for i in range(len(a)):
        low = max(lower[i], anchor[i] - spread)
        high = min(upper[i], anchor[i] + spread)
        places = [end[i] for end in ends if np.isfinite(end[i])]
        place = rng.choice(places) if places and rng.random() < 0.5 else rng.uniform(low, high)
        a[i] = min(max(place, lower[i]), upper[i])
    return a


def implied_interval(problem):
    """Intervals whose infinite ends are replaced by what the equality implies, row by row."""
    lower, upper = np.array(problem.penalty.lower), np.array(problem.penalty.upper)
    low, high = lower.copy(), upper.copy()
    for i in range(len(lower)):
        others = np.arange(len(lower)) != i
        low[i] = max(low[i], problem.total - upper[others].sum())
        high[i] = min(high[i], problem.total - lower[others].sum())
    return np.where(np.isinf(lower), low, lower), np.where(np.isinf(upper), high, upper)
