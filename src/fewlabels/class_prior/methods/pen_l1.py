"""The prior by penalised L1 distance between densities."""

from numbers import Integral
from typing import Any, ClassVar, TypeAlias

import numpy as np
from sklearn.metrics import euclidean_distances
from sklearn.utils._param_validation import Interval

from ..._typing import BoolArray, FloatArray, IntArray, RandomStateLike, RowMatrix
from ._base import PriorEstimator, median_distance, scale_columns

_WIDTHS = np.geomspace(0.1, 10.0, 9)
_PENALTIES = np.geomspace(1e-3, 10.0, 5)
_PRIORS = np.linspace(0.01, 0.99, 99)
_FOLDS = 5


# Bases of positive and unlabelled rows, of each width; and the fold of each row of either kind.
_State: TypeAlias = tuple[list[tuple[FloatArray, FloatArray]], tuple[IntArray, IntArray]]


class PenL1(PriorEstimator[_State]):
    r"""Penalised L1 distance (penL1), du Plessis, Niu, Sugiyama, ACML 2015, section 4.

    For a candidate prior :math:`\theta` the partial model :math:`\theta p(x)` should not
    exceed the density of the unlabelled rows; where it does, the divergence is infinite.
    With Gaussian bases :math:`\varphi_l` its lower bound has the closed form

    .. math:: \mathrm{penL_1}(\theta) = \frac{1}{\lambda} \sum_l \max(0, \beta_l)^2
              - \theta + 1, \qquad
              \beta_l = \frac{\theta}{n_P} \sum_{i \in P} \varphi_l(x_i)
              - \frac{1}{n_U} \sum_{i \in U} \varphi_l(x_i),

    and the estimate is its minimiser. Width and :math:`\lambda` are chosen for every
    :math:`\theta` by five-fold cross-validation of the bound.

    Parameters
    ----------
    n_bases : int, default=300
        Gaussian bases, centred on unlabelled rows drawn at random, >= 1.
    <rows 5000>
    <seed subsamples, centres and folds>

    <found strictly inside (0, 1)>

    Notes
    -----
    Columns are standardised (sparse ones scaled by their largest value). The estimate is a
    multiple of 0.01. An estimate from above where classes overlap everywhere, and
    with few positives a loose one: the bases must notice the excess.

    <clouds 0.2 < class_prior.PenL1().fit(X, y).prior_ < 0.5>
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **PriorEstimator._parameter_constraints,
        "n_bases": [Interval(Integral, 1, None, closed="left")],
    }
    _n_bootstrap = 20

    def __init__(
        self,
        *,
        n_bases: int = 300,
        max_rows: int | None = 5000,
        pos_label: object = None,
        random_state: RandomStateLike = 0,
    ) -> None:
        self.n_bases = n_bases
        self.max_rows = max_rows
        self.pos_label = pos_label
        self.random_state = random_state

    def _prepare(self, X: RowMatrix, positive: BoolArray, rng: np.random.RandomState) -> _State:
        X = scale_columns(X)
        unlabelled = np.flatnonzero(~positive)
        centres = rng.choice(unlabelled, min(self.n_bases, len(unlabelled)), replace=False)
        distances = euclidean_distances(X, X[centres], squared=True)
        width = median_distance(distances)
        bases = [np.exp(-distances / (2.0 * (width * w) ** 2)) for w in _WIDTHS]
        folds_p, folds_u = (
            rng.permutation(n) % _FOLDS for n in (positive.sum(), (~positive).sum())
        )
        return [(b[positive], b[~positive]) for b in bases], (folds_p, folds_u)

    def _solve(self, state: _State, p: IntArray, u: IntArray) -> float:
        bases, (folds_p, folds_u) = state
        divergence = np.array(
            [_divergences(b_p[p], b_u[u], folds_p[p], folds_u[u]) for b_p, b_u in bases]
        )
        held_out, value = np.moveaxis(divergence, 1, 0).reshape(2, -1, len(_PRIORS))
        chosen = value[np.argmax(held_out, axis=0), np.arange(len(_PRIORS))]
        return _PRIORS[np.argmin(chosen)]


def _divergences(
    bases_p: FloatArray, bases_u: FloatArray, folds_p: IntArray, folds_u: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return held-out bound and divergence of one width, each of shape (penalties, priors)."""
    held_out = np.zeros(len(_PRIORS))
    for k in range(_FOLDS):
        if not (0 < np.sum(folds_p == k) < len(folds_p)):
            continue  # so few rows that a fold has none
        if not (0 < np.sum(folds_u == k) < len(folds_u)):
            continue
        inside = _excess(bases_p[folds_p != k], bases_u[folds_u != k])
        outside = _excess(bases_p[folds_p == k], bases_u[folds_u == k])
        held_out += np.sum(np.maximum(inside, 0.0) * outside, axis=1) / _FOLDS
    value = np.sum(np.maximum(_excess(bases_p, bases_u), 0.0) ** 2, axis=1)
    return held_out / _PENALTIES[:, None], value / _PENALTIES[:, None] + 1.0 - _PRIORS


def _excess(bases_p: FloatArray, bases_u: FloatArray) -> FloatArray:
    """Return beta of every prior, shape (priors, bases)."""
    return _PRIORS[:, None] * bases_p.mean(axis=0) - bases_u.mean(axis=0)
