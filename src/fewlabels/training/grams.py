"""Operators over training rows."""

import numpy as np
import scipy.sparse as sp

from ..gram import make_gram
from ..kernels import Linear

# Up to so many rows every kernel value is float64: it costs milliseconds.
ALWAYS_FLOAT64 = 2048


def gram_over(kernel, X, n_jobs=1, *, float64=False):
    """The operator of a kernel over training rows, in float64 where these are few."""
    dtype = np.float64 if float64 else None
    return make_gram(kernel, X, dtype=dtype, n_jobs=n_jobs, exact=ALWAYS_FLOAT64)


def shift_of(kernel, X):
    """What is taken from rows under the linear kernel, which changes nothing but rounding."""
    if not isinstance(kernel, Linear) or sp.issparse(X):
        return None
    return X.mean(axis=0, dtype=np.float64)
