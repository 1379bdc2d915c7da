"""When to alarm: statistics of the growths that bettors report.

:class:`Martingale` starts with a capital of 1, a third for each bettor, and alarms when it reaches
``1 / alpha``. By Ville's inequality at most a share ``alpha`` of unchanged streams ever does. A
bettor that bets from the first row on loses slowly while nothing changes. The capital is
therefore invested step by step: after n rows ``log 2 / log(2 + n / 100)`` of it is still held
back. Whenever the change comes, some capital begins to bet just then, and the loss compared with a
bettor that knew the moment is a factor that grows only like ``n log(n)^2``.

:class:`ShiryaevRoberts` and :class:`Cusum` begin anew after every alarm. Their statistics are sums
and maxima over all possible starting rows. The first one minus the number of rows is a martingale
with mean 0, and the second one is never larger. So the expected number of rows before an alarm,
on an unchanged stream, is at least the threshold (Vovk, Petej et al. 2021; Shin, Ramdas and
Rinaldo 2023).
"""

from math import exp, inf, log, log1p

_INVESTED = 100.0


def _log_sum(a, b):
    """The logarithm of exp(a) + exp(b)."""
    if a < b:
        a, b = b, a
    return a if b == -inf else a + log1p(exp(b - a))


class Martingale:
    """The average of the bettors' capitals; ``log`` is its logarithm."""

    restarts = False

    def __init__(self, alpha, n_bettors):
        self.threshold = -log(alpha)
        self.n_rows, self.pools = 0, [-inf] * n_bettors

    def step(self, growths):
        """Take the growths of one row; gives the logarithm of the statistic."""
        before, after = _reserve(self.n_rows), _reserve(self.n_rows + 1)
        self.n_rows += 1
        stake = log((before - after) / len(self.pools))
        self.pools = [
            _log_sum(pool, stake) + log(growth)
            for pool, growth in zip(self.pools, growths, strict=True)
        ]
        return self.log

    @property
    def log(self):
        total = log(_reserve(self.n_rows))
        for pool in self.pools:
            total = _log_sum(total, pool)
        return total

    @property
    def state(self):
        return {"n_rows": self.n_rows, "pools": [p if p > -inf else None for p in self.pools]}

    @state.setter
    def state(self, state):
        self.n_rows = state["n_rows"]
        self.pools = [-inf if pool is None else pool for pool in state["pools"]]


class ShiryaevRoberts:
    """The average over bettors of the sum over starting rows of what a unit has become."""

    restarts = True

    def __init__(self, run_length, n_bettors):
        self.threshold = log(run_length)
        self.n_rows, self.pools = 0, [-inf] * n_bettors

    def step(self, growths):
        self.n_rows += 1
        self.pools = [
            self._again(pool) + log(growth)
            for pool, growth in zip(self.pools, growths, strict=True)
        ]
        return self.log

    @staticmethod
    def _again(pool):
        return _log_sum(pool, 0.0)

    @property
    def log(self):
        total = -inf
        for pool in self.pools:
            total = _log_sum(total, pool)
        return total - log(len(self.pools))

    state = Martingale.state


class Cusum(ShiryaevRoberts):
    """The average over bettors of the largest such term, over starting rows."""

    @staticmethod
    def _again(pool):
        return max(pool, 0.0)


CHARTS = {"shiryaev-roberts": ShiryaevRoberts, "cusum": Cusum}


def _reserve(n):
    """The share of the capital that is held back after n rows."""
    return log(2.0) / log(2.0 + n / _INVESTED)
