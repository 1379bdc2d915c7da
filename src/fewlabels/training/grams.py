"""Operators over training rows."""

import numpy as np

from ..gram import make_gram
from ..kernels import center_of
from ..solvers.settings import MOST_MET, WHOLE, WHOLE_IF_FEW_ARE_MET


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
