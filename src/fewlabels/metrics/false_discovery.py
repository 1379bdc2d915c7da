"""Selection from many p-values."""

from numbers import Real

import numpy as np

from .._typing import BoolArray, VectorLike
from ..data.checks import check_numbers

# k q / m in decimals.
_DECIMALS = 1e-12


def benjamini_hochberg(p_values: VectorLike, q: float = 0.1) -> BoolArray:
    """Select rows to report, so that the false discovery rate is at most ``q``.

    All rows whose p-value is at most the largest ``p_(k)`` with ``p_(k) <= k q / m``, of the m
    p-values in ascending order. On average over data, the share of normal rows among the rows
    reported is then at most ``q`` (the false discovery rate) if the p-values of normal rows are
    valid and independent, or positively dependent, as ``p_values`` returns them with
    ``calibration="split"`` are (Bates et al. 2023), although all share the calibration rows.

    Parameters
    ----------
    p_values : array-like of shape (n_samples,)
        P-values in [0, 1], of all rows that were looked at.
    q : float, default=0.1
        False discovery rate, in (0, 1).

    Returns
    -------
    ndarray of bool of shape (n_samples,)

    References
    ----------
    Benjamini, Y., Hochberg, Y. (1995). Controlling the false discovery rate. Journal of the
    Royal Statistical Society B 57(1).

    Bates, S., Candes, E., Lei, L., Romano, Y., Sesia, M. (2023). Testing for outliers with
    conformal p-values. Annals of Statistics 51(1).

    Examples
    --------
    >>> from fewlabels.metrics import benjamini_hochberg
    >>> benjamini_hochberg([0.001, 0.8, 0.03, 0.06, 0.4], q=0.1)
    array([ True, False,  True,  True, False])
    """
    p = check_numbers(p_values, ensure_2d=False, dtype=np.float64, input_name="p_values")
    if p.ndim != 1 or p.min() < 0.0 or p.max() > 1.0:
        raise ValueError("p_values must be one-dimensional, with numbers from 0 to 1.")
    if not isinstance(q, float | Real) or not 0.0 < q < 1.0:
        raise ValueError(f"q={q!r} is not a false discovery rate; pass a number between 0 and 1.")
    ascending = np.sort(p)
    allowed = q * np.arange(1, len(p) + 1) / len(p) * (1.0 + _DECIMALS)
    passing = np.flatnonzero(ascending <= allowed)
    return p <= ascending[passing[-1]] if len(passing) else np.zeros(len(p), bool)
