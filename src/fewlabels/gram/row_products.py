"""Products of rows with weights that don't depend on the other rows."""

import numpy as np
import scipy.sparse as sp


def row_products(X, weights):
    """``X @ weights``, where the value of a row does not depend on the other rows.

    BLAS sums in another order for another number of rows. Weights may be of shape (k, d).
    """
    if sp.issparse(X):
        return X @ weights.T
    by = "ij,j->i" if weights.ndim == 1 else "ij,kj->ik"
    return np.einsum(by, np.ascontiguousarray(X, dtype=np.float64), weights)
