"""Propensities of labelled rows as weights."""

from dataclasses import dataclass

import numpy as np

from .._typing import FloatArray


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
        """Factors of the weights of labelled rows with these propensities.

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
