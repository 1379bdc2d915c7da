"""Whether rows are sparse."""

import numpy as np
import scipy.sparse as sp


def is_sparse(X):
    """Whether X is a sparse array or matrix of SciPy.

    SciPy's own test takes longer to say no to an array, and a fit asks a dozen times.
    """
    return type(X) is not np.ndarray and sp.issparse(X)
