"""From propensities to weights of labelled rows: clipped, normalised and shrunk.

With equal weights the mean of the labelled rows in feature space has a bias where labels depend
on the row. Inverse propensities remove it and add variance. A mean of both weights trades one
for the other, and its best share follows from the labelled rows themselves.
"""

from dataclasses import dataclass

import numpy as np

from .._typing import FloatArray
from ..kernels.operators import GramOperator


@dataclass(frozen=True, eq=False, kw_only=True)
class PropensityWeights:
    """The weights of labelled rows as a function of their propensities.

    A fit chooses these numbers once. Updates of the model apply them to new rows.

    Attributes
    ----------
    strength : float
        0 for equal weights, 1 for inverse propensities, between them for a mean of both.
    floor : float
        Smaller propensities count as this one.
    unit : float
        Factor that keeps the sum of the weights what it was without propensities.
    one_sample : bool
        Whether labelled and unlabelled rows are one sample.
    n_labelled : int
        Labelled rows of the fit.
    n_clipped : int
        How many of them had a propensity below ``floor``.
    effective_size : float
        Effective sample size of the labelled rows, ``sum(w)^2 / sum(w^2)``.
    full_effective_size : float
        The same at ``strength=1``.
    """

    strength: float
    floor: float
    unit: float
    one_sample: bool
    n_labelled: int
    n_clipped: int
    effective_size: float
    full_effective_size: float

    def __call__(self, propensity: FloatArray) -> FloatArray:
        """Return factors of the weights of labelled rows with these propensities.

        Parameters
        ----------
        propensity : ndarray of shape (n,)
            P(labelled | positive, x), in (0, 1].

        Returns
        -------
        ndarray of shape (n,)
            With mean 1 over the labelled rows of the fit.
        """
        return (1.0 - self.strength) + self.strength * self.unit * self.inverse(propensity)

    def inverse(self, propensity: FloatArray) -> FloatArray:
        """Return how many positives a labelled row stands for; in one sample, unlabelled ones.

        Parameters
        ----------
        propensity : ndarray of shape (n,)
            P(labelled | positive, x), in (0, 1].

        Returns
        -------
        ndarray of shape (n,)
        """
        e = np.maximum(propensity, self.floor)
        return (1.0 - e) / e if self.one_sample else 1.0 / e


# A row counts at most so many times as often as the median labelled row.
_MAX_RELATIVE_WEIGHT = 10.0
# Most labelled rows that the strength is chosen from.
_MAX_ROWS = 1000


def propensity_weights(
    propensity: FloatArray, weight: FloatArray, gram: GramOperator, one_sample: bool = False
) -> PropensityWeights:
    """Return the ``PropensityWeights`` of labelled rows.

    Parameters
    ----------
    propensity : ndarray of shape (n,)
        P(labelled | positive, x) of the labelled rows, in (0, 1].
    weight : ndarray of shape (n,)
        Their sample weights, > 0.
    gram : GramOperator
        K over these rows.
    one_sample : bool, default=False
        Whether labelled and unlabelled rows are one sample.
    """
    floor = float(np.median(propensity)) / _MAX_RELATIVE_WEIGHT
    plain = PropensityWeights(
        strength=1.0,
        floor=floor,
        unit=1.0,
        one_sample=one_sample,
        n_labelled=len(weight),
        n_clipped=int(np.sum(propensity < floor)),
        effective_size=0.0,
        full_effective_size=0.0,
    )
    inverse = plain.inverse(propensity)
    if not inverse.any():
        raise ValueError(
            "every labelled row has propensity 1, so no positive would be left without a label; "
            "pass sampling='two-sample', or smaller propensities."
        )
    unit = float(weight.sum() / (weight @ inverse))
    strength = _choose_strength(weight, weight * unit * inverse, gram)
    values = {
        name: getattr(plain, name) for name in ("floor", "one_sample", "n_labelled", "n_clipped")
    }
    full = effective_size(weight * inverse)
    used = weight * ((1.0 - strength) + strength * unit * inverse)
    return PropensityWeights(
        strength=strength,
        unit=unit,
        effective_size=effective_size(used),
        full_effective_size=full,
        **values,
    )


def effective_size(weight: FloatArray) -> float:
    """``sum(w)^2 / sum(w^2)``."""
    return float(weight.sum() ** 2 / (weight @ weight))


def _choose_strength(equal: FloatArray, inverse: FloatArray, gram: GramOperator) -> float:
    """The share t of inverse propensities with the smallest estimated error of the mean row.

    With a_i and b_i what row i adds to the errors of the two means m_0 and m_1,
    ``|| (1 - t) bias + sum_i (1 - t) a_i + t b_i ||^2`` has the expectation
    ``(1 - t)^2 (bias^2 + A) + 2 t (1 - t) C + t^2 B`` with ``A = sum |a_i|^2``, ``B = sum
    |b_i|^2`` and ``C = sum <a_i, b_i>``. The bias follows from ``|m_0 - m_1|^2``, which chance
    makes larger by ``A - 2 C + B``.
    """
    n = len(equal)
    if n > _MAX_ROWS:
        some = np.linspace(0, n - 1, _MAX_ROWS).astype(np.intp)
        gram, equal, inverse = gram.take(some), equal[some], inverse[some]
    p, q = equal / equal.sum(), inverse / inverse.sum()
    every = np.arange(len(p))
    to_p, to_q = gram.product(every, p), gram.product(every, q)
    own = gram.diagonal()
    at_p, at_q, across = own - 2.0 * to_p, own - 2.0 * to_q, own - to_p - to_q
    a = float(p**2 @ (at_p + p @ to_p))
    b = float(q**2 @ (at_q + q @ to_q))
    c = float((p * q) @ (across + p @ to_q))
    apart = float((p - q) @ (to_p - to_q))
    chance = a - 2.0 * c + b
    top = max(0.0, apart - chance) + a - c
    bottom = max(apart, chance)
    return float(np.clip(top / bottom, 0.0, 1.0)) if bottom > 0.0 else 0.0
