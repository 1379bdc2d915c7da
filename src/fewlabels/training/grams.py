"""Operators over training rows."""

import numpy as np

from ..gram import make_gram
from ..kernels import center_of

# Up to so many rows every kernel value is float64: it costs milliseconds. And where few values are
# evaluated: under a Gaussian kernel, of which no more rows than this share have to be used.
ALWAYS_FLOAT64 = 1024
_FEW_EVALUATED, _FEW = 2048, 0.3


def rows_in_float64(kernel, fewest=1.0):
    """Up to how many rows kernel values are float64; ``fewest``: see ``Formulation``."""
    is_few = kernel.is_mapped and kernel.is_similarity
    return _FEW_EVALUATED if is_few and fewest <= _FEW else ALWAYS_FLOAT64


def gram_over(kernel, X, n_jobs=1, *, float64=False, fewest=1.0):
    """The operator of a kernel over training rows, in float64 where these are few."""
    dtype, exact = np.float64 if float64 else None, rows_in_float64(kernel, fewest)
    return make_gram(kernel, X, dtype=dtype, n_jobs=n_jobs, exact=exact)


def shift_of(kernel, X):
    """What is taken from rows under the linear kernel, which changes nothing but rounding."""
    return center_of(X) if kernel.is_linear else None
