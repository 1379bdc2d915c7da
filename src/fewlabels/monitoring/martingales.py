"""Bets against uniform p-values: the factors by which capital grows from row to row.

A bettor names a density for the next p-value from those before it. Its capital is multiplied by
the density at the p-value that comes, the *growth*. As long as p-values are independent and
uniform, every growth has an expected value of 1 given the past. A product of growths is then a
martingale: it rarely becomes large unless the data change.

* ``jumper``: linear densities ``1 + e (p - 1/2)``, the simple jumper of Vovk et al. (2021). It
  gains when scores move to one side.
* ``power``: ``a p^(a - 1)`` and its mirror image ``a (1 - p)^(a - 1)``. It gains when a few
  scores are extreme, in the mean of the mixture as in Vovk, Nouretdinov and Gammerman (2003).
* ``histogram``: the density of recent p-values in ten bins. It gains from any other shape.

The first two spread their capital over several densities and move a small part of it in every
step, so that they recover after long quiet stretches.
"""

from collections.abc import Callable
from operator import mul

# Share of the capital that a bettor spreads anew in every step.
JUMP = 0.001
# Bins of the histogram, and what each is taken to hold before any p-value.
BINS = 10
PRIOR = 2.0
# Rows after which a p-value counts half.
_HALF_LIFE = 200.0
KEEP = 0.5 ** (1.0 / _HALF_LIFE)
ADD = (1.0 - KEEP) * PRIOR


class Mixture:
    """A bettor that spreads its capital over several densities; ``weights`` say how."""

    def __init__(self, densities: Callable[[float], tuple[float, ...]], n: int) -> None:
        self._densities = densities
        self.weights = [1.0 / n] * n

    def growth(self, p: float) -> float:
        """Return the factor that multiplies the capital when ``p`` comes."""
        won = list(map(mul, self.weights, self._densities(p)))
        total = sum(won)
        keep, add = (1.0 - JUMP) / total, JUMP / len(won)
        self.weights = [keep * w + add for w in won]
        return total

    @property
    def state(self) -> list[float]:
        return self.weights

    @state.setter
    def state(self, weights: list[float]) -> None:
        self.weights = list(weights)


class Histogram:
    """A bettor that expects p-values to fall where recent ones fell."""

    def __init__(self) -> None:
        self.counts, self.total = [PRIOR] * BINS, PRIOR * BINS

    def growth(self, p: float) -> float:
        k = int(p * BINS)
        growth = BINS * self.counts[k] / self.total
        self.counts = [KEEP * c + ADD for c in self.counts]
        self.counts[k] += 1.0
        self.total = KEEP * self.total + BINS * ADD + 1.0
        return growth

    @property
    def state(self) -> list[float]:
        return [*self.counts, self.total]

    @state.setter
    def state(self, values: list[float]) -> None:
        *self.counts, self.total = values


def linear(p: float) -> tuple[float, ...]:
    """Return the densities of the jumper at p."""
    d = p - 0.5
    return 1.0 - 2.0 * d, 1.0 - d, 1.0, 1.0 + d, 1.0 + 2.0 * d


def powers(p: float) -> tuple[float, ...]:
    """Return the densities of the power mixture at p."""
    a, b = p**-0.25, (1.0 - p) ** -0.25
    return 0.75 * a, 0.5 * a * a, 0.25 * a**3, 0.75 * b, 0.5 * b * b, 0.25 * b**3, 1.0


def new_bettors() -> list[Mixture | Histogram]:
    """Make new bettors, in the order in which their growths are given."""
    return [Mixture(linear, 5), Mixture(powers, 7), Histogram()]
