"""When to alarm: statistics of the growths that bettors report.

:class:`Martingale` starts with a capital of 1, a third for each bettor, and alarms when it reaches
``1 / alpha``. By Ville's inequality at most a share ``alpha`` of unchanged streams ever does. A
bettor that bets from the first row on loses slowly while nothing changes. The capital is
therefore invested step by step: after n rows ``log 2 / log(2 + n / 100)`` of it is still held
back. Whenever the change comes, some capital begins to bet just then, and the loss compared with a
bettor that knew the moment is a factor that grows only like ``n log(n)^2``.

:class:`ShiryaevRoberts` and :class:`Cusum` restart after every alarm. Their statistics are sums
and maxima over all possible starting rows. The first one minus the number of rows is a martingale
with mean 0, and the second one is never larger. So the expected number of rows before an alarm,
on an unchanged stream, is at least the threshold (Vovk, Petej et al. 2021; Shin, Ramdas and
Rinaldo 2023). This bound is far too careful for the maximum. The thresholds are therefore
calibrated by simulation.
"""

from math import exp, inf, log
from typing import Any, TypeAlias

import numpy as np

# While nothing changes, p-values are independent and uniform, whatever the data and the model. So
# one simulation serves all data: benchmark "chart_thresholds" made these tables, with each
# threshold raised by one standard error (at most 4 %). Outside of the tables the proven bound
# holds: a threshold of n gives a mean run length of at least n.
# fmt: off
RUN_LENGTHS = (
    10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000,
    1000000,
)
# Natural logarithms of thresholds.
LOG_THRESHOLDS = {
    "cusum": (
        0.2517, 0.4235, 0.664, 0.8478, 1.0569, 1.3923, 1.7197, 2.1164, 2.7418, 3.3002, 3.9209,
        4.7797, 5.4486, 6.1464, 7.0486, 7.7366,
    ),
    "shiryaev-roberts": (
        2.1236, 2.8528, 3.8007, 4.5105, 5.2234, 6.1329, 6.7919, 7.4274, 8.2924, 8.9471, 9.6164,
        10.5256, 11.219, 11.9184, 12.853, 13.593,
    ),
}
# fmt: on


def log_threshold(chart: str, run_length: int) -> float:
    """Return the log threshold at which a chart alarms once in ``run_length`` rows."""
    if not RUN_LENGTHS[0] <= run_length <= RUN_LENGTHS[-1]:
        return log(run_length)
    return float(np.interp(log(run_length), np.log(RUN_LENGTHS), LOG_THRESHOLDS[chart]))


_INVESTED = 100.0
# Capitals are plain numbers within these bounds; beyond them a common factor is taken out.
_LEAST, _MOST = 1e-100, 1e100
# Plain numbers, by name.
ChartState: TypeAlias = dict[str, Any]


class Martingale:
    """The average of the bettors' capitals; ``log`` is its logarithm.

    Bettor j has the capital ``pools[j] * exp(scale)``.
    """

    restarts = False

    def __init__(self, alpha: float, n_bettors: int) -> None:
        self.threshold = -log(alpha)
        self.n_rows, self.pools, self.scale = 0, [0.0] * n_bettors, 0.0
        self._unit, self._reserve = 1.0, _reserve(0)

    def step(self, growths: list[float]) -> float:
        """Take the growths of one row; return the logarithm of the statistic."""
        self.n_rows += 1
        before, self._reserve = self._reserve, _reserve(self.n_rows)
        stake = (before - self._reserve) * self._unit / len(self.pools)
        pools = [(v + stake) * growth for v, growth in zip(self.pools, growths, strict=True)]
        total = sum(pools) + self._reserve * self._unit
        if not _LEAST < total < _MOST:
            self.scale += log(total)
            self._unit, pools, total = exp(-self.scale), [v / total for v in pools], 1.0
        self.pools = pools
        return self.scale + log(total)

    @property
    def log(self) -> float:
        return self.scale + log(sum(self.pools) + self._reserve * self._unit)

    @property
    def state(self) -> ChartState:
        return {"n_rows": self.n_rows, "pools": self.pools, "scale": self.scale}

    @state.setter
    def state(self, state: ChartState) -> None:
        self.n_rows, self.pools, self.scale = state["n_rows"], state["pools"], state["scale"]
        self._unit, self._reserve = exp(-self.scale), _reserve(self.n_rows)


class ShiryaevRoberts:
    """The average over bettors of the sum over starting rows of what a unit has become."""

    restarts, name = True, "shiryaev-roberts"

    def __init__(self, run_length: int, n_bettors: int) -> None:
        self.run_length, self.threshold = run_length, log_threshold(self.name, run_length)
        self.n_rows, self.pools = 0, [0.0] * n_bettors

    def step(self, growths: list[float]) -> float:
        self.n_rows += 1
        self.pools = [
            min((v + 1.0) * growth, _MOST) for v, growth in zip(self.pools, growths, strict=True)
        ]
        return self.log

    @property
    def log(self) -> float:
        total = sum(self.pools)
        return log(total / len(self.pools)) if total else -inf

    @property
    def state(self) -> ChartState:
        own = {"chart": self.name, "threshold": self.threshold}
        return {"n_rows": self.n_rows, "pools": self.pools, **own}

    @state.setter
    def state(self, state: ChartState) -> None:
        self.n_rows, self.pools = state["n_rows"], state["pools"]
        # Stays until the chart restarts, whatever is simulated meanwhile.
        self.threshold = state["threshold"]


class Cusum(ShiryaevRoberts):
    """The average over bettors of the largest such term, over starting rows."""

    name = "cusum"

    def step(self, growths: list[float]) -> float:
        self.n_rows += 1
        self.pools = [
            min(max(v, 1.0) * growth, _MOST) for v, growth in zip(self.pools, growths, strict=True)
        ]
        return self.log


CHARTS: dict[str, type[ShiryaevRoberts]] = {
    chart.name: chart for chart in (ShiryaevRoberts, Cusum)
}
Chart: TypeAlias = Martingale | ShiryaevRoberts


def _reserve(n: int) -> float:
    """Return the share of the capital that is held back after n rows."""
    return log(2.0) / log(2.0 + n / _INVESTED)
