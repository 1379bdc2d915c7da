"""Alerts on single rows with a bounded false discovery rate, one p-value at a time.

Both rules give every row a level and alert when its p-value is at most that level. Levels are
paid from a budget that grows with every alert. For independent p-values that are uniform for
normal rows, the expected share of normal rows among the alerts is at most ``q``.
"""

from abc import ABC, abstractmethod
from numbers import Integral, Real

import numpy as np

from .._typing import BoolArray, FloatArray, IntArray, VectorLike

# Alerts remembered. Older ones would add a little to later levels; without them these are lower.
_REMEMBERED = 10_000
# Make the published weights sum to 1 over all distances.
_LORD, _SAFFRON = 0.07720838, 1.0 / 2.2857656


class _Rule(ABC):
    """Levels from weights over the distance to earlier alerts; subclasses say which distance."""

    q: float
    horizon: int
    _clock: int
    _n_alerts: int
    _alerts: list[int]

    def __init__(self, q: float = 0.1, horizon: int = 1000) -> None:
        if not isinstance(q, Real) or not 0.0 < q < 1.0:
            raise ValueError(
                f"q={q!r} is not a false discovery rate; pass a number between 0 and 1."
            )
        if isinstance(horizon, bool) or not isinstance(horizon, Integral) or horizon < 1:
            raise ValueError(f"horizon={horizon!r} is not allowed; pass a whole number of rows.")
        self.q, self.horizon = float(q), int(horizon)
        self._clock, self._n_alerts, self._alerts = 0, 0, []

    @abstractmethod
    def step(self, p: float) -> tuple[bool, float]:
        """Return whether to alert on the next p-value, and the level it was compared with."""

    @staticmethod
    @abstractmethod
    def _weights(distance: FloatArray) -> FloatArray:
        """Return the published weights of alerts at these distances."""

    def test(self, p_values: VectorLike) -> BoolArray:
        """Alert on the next p-values of the stream.

        Parameters
        ----------
        p_values : array-like of shape (n_samples,)
            P-values in [0, 1], in the order of the stream.

        Returns
        -------
        ndarray of bool of shape (n_samples,)
        """
        p = np.asarray(p_values, dtype=np.float64)
        if p.ndim != 1 or np.isnan(p).any() or (len(p) and (p.min() < 0.0 or p.max() > 1.0)):
            raise ValueError("p_values must be one-dimensional, with numbers from 0 to 1.")
        return np.array([self.step(value)[0] for value in p.tolist()], bool)

    @property
    def state(self) -> list[int]:
        """list of int: The clock, the number of alerts, and their times."""
        return [self._clock, self._n_alerts, *self._alerts]

    @state.setter
    def state(self, values: list[int]) -> None:
        self._clock, self._n_alerts, *self._alerts = values

    def _spent(self, first: float, rest: float) -> float:
        """Sum the weights of the distances from now of all alerts, and of the start."""
        total = first * self._weight(np.array([self._clock]))[0]
        if self._alerts:
            weights = self._weight(self._clock - np.array(self._alerts))
            total += rest * weights.sum()
            if self._n_alerts == len(self._alerts):  # the first alert pays less
                total -= first * weights[0]
        return float(total)

    def _weight(self, distance: IntArray) -> FloatArray:
        """Return half of the published weights, plus a half spread evenly over the horizon."""
        near = (distance <= self.horizon) / self.horizon
        return 0.5 * (near + self._weights(distance.astype(float)))

    def _remember(self, time: int) -> None:
        self._n_alerts += 1
        self._alerts.append(time)
        del self._alerts[:-_REMEMBERED]


class LORD(_Rule):
    """LORD++ (Ramdas et al. 2017): levels from the time since earlier alerts.

    Use it to decide row by row which p-values are alerts, with a bounded false discovery rate
    over the whole stream.

    Parameters
    ----------
    q : float, default=0.1
        False discovery rate, in (0, 1).
    horizon : int, default=1000
        Half of the budget is spent evenly over so many rows. P-values from ranks are rarely very
        small, and the published weights spend most of their budget where only such p-values
        could lead to an alert.

    References
    ----------
    Ramdas, A., Yang, F., Wainwright, M., Jordan, M. (2017). Online control of the false discovery
    rate with decaying memory. NeurIPS 30.

    Examples
    --------
    >>> from fewlabels.monitoring import LORD
    >>> LORD(q=0.1).test([0.8, 0.0001, 0.4, 0.0002, 0.02])
    array([False,  True, False,  True, False])
    """

    def step(self, p: float) -> tuple[bool, float]:
        """Return whether to alert on the next p-value, and the level it was compared with."""
        self._clock += 1
        level = self._spent(0.5 * self.q, self.q)
        alert = p <= level
        if alert:
            self._remember(self._clock)
        return alert, level

    @staticmethod
    def _weights(distance: FloatArray) -> FloatArray:
        log = np.log(distance)
        return _LORD * np.maximum(log, np.log(2.0)) / (distance * np.exp(np.sqrt(log)))


class SAFFRON(_Rule):
    """SAFFRON (Ramdas et al. 2018): like LORD, and large p-values cost nothing.

    Use it in place of :class:`LORD` if many rows are anomalies.

    Parameters
    ----------
    q : float, default=0.1
        False discovery rate, in (0, 1).
    horizon : int, default=1000
        Half of the budget is spent evenly over so many rows. P-values from ranks are rarely very
        small, and the published weights spend most of their budget where only such p-values
        could lead to an alert.

    References
    ----------
    Ramdas, A., Zrnic, T., Wainwright, M., Jordan, M. (2018). SAFFRON: an adaptive algorithm for
    online control of the false discovery rate. ICML 35.

    Examples
    --------
    >>> from fewlabels.monitoring import SAFFRON
    >>> SAFFRON(q=0.1).test([0.8, 0.0001, 0.4, 0.0002, 0.02])
    array([False,  True, False,  True, False])
    """

    _CANDIDATE = 0.5

    def step(self, p: float) -> tuple[bool, float]:
        """Return whether to alert on the next p-value, and the level it was compared with."""
        # The clock counts rows that are no candidates, and the next one.
        self._clock = max(self._clock, 1)
        # Half of (1 - candidate) q to start with, as in the authors' experiments.
        share = (1.0 - self._CANDIDATE) * self.q
        level = min(self._CANDIDATE, self._spent(0.5 * share, share))
        alert = p <= level
        if alert:
            self._remember(self._clock - 1)
        if p > self._CANDIDATE:
            self._clock += 1
        return alert, level

    @staticmethod
    def _weights(distance: FloatArray) -> FloatArray:
        return _SAFFRON * distance**-1.6
