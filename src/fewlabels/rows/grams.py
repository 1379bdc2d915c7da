"""Operators over rows, in as many digits as these need, and whether a width leaves any."""

import numpy as np
import scipy.sparse as sp

from ..gram import make_gram
from ..gram.equal_rows import distinct
from ..gram.tiles.features import middle
from ..kernels import center_of, centered
from ..kernels.base import squared_norms
from ..options.words import Message, ref
from ..solvers.run import MOST_MET, WHOLE, WHOLE_IF_FEW_ARE_MET

_EPSILON = float(np.finfo(float).eps)
# Rows that the spread of all is estimated from.
_SAMPLE = 256


def rows_in_float64(kernel, fewest=1.0):
    """Up to how many rows kernel values are float64, as many as are solved whole.

    ``fewest`` is the share of the rows that have to be used, see ``Formulation``.
    """
    few_are_evaluated = kernel.is_mapped and kernel.is_similarity and fewest <= MOST_MET
    return WHOLE_IF_FEW_ARE_MET if few_are_evaluated else WHOLE


def gram_over(kernel, X, n_jobs=1, *, float64=False, fewest=1.0):
    """The operator of a kernel over training rows, in float64 where these are few."""
    dtype, exact = np.float64 if float64 else None, rows_in_float64(kernel, fewest)
    return make_gram(kernel, X, dtype=dtype, n_jobs=n_jobs, exact=exact)


def shift_of(kernel, X):
    """What is taken from rows under the linear kernel, which changes nothing but rounding."""
    return center_of(X) if kernel.is_linear else None


def check_width(kernel, X):
    """Refuse a kernel so narrow that no digit of its values is right for most distinct rows."""
    entries = X.data if sp.issparse(X) else X.ravel()
    together = float(np.einsum("i,i->", entries, entries))  # without the threads of BLAS
    if _digits_left(kernel, together, X):
        return
    rows = distinct(X)
    center = center_of(X) if sp.issparse(X) else middle(rows)
    norms = squared_norms(centered(rows, center))
    if not _digits_left(kernel, float(np.median(norms)), X):
        raise ValueError(
            Message(
                f"{ref('gamma', kernel.gamma)} is so large that kernel values of these rows are "
                "rounding errors; pass a smaller gamma."
            )
        )


def _digits_left(kernel, norm, X):
    return kernel.rounding(norm, X.shape[1])[0] * _EPSILON <= 1.0


def spread_over(n):
    """Numbers of a few of n rows, from the first to the last."""
    return np.unique(np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.intp))
