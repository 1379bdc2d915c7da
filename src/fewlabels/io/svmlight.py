"""Reading svmlight files, in pieces of whole lines."""

import contextlib
import os

import numpy as np

from ..options.words import UserError

# Bytes of text that are read at a time.
_BYTES = 32_000_000


@contextlib.contextmanager
def readable(path):
    """Turn what the reader says into one sentence."""
    try:
        yield
    except (ValueError, OSError, OverflowError) as error:
        reason = str(error).strip().rstrip(".") or "a line is malformed"
        raise UserError(
            f"{path} can't be read as svmlight ({reason}); each line is 'label column:value "
            "column:value ...', and tables need the extension .csv or .tsv."
        ) from error


def pieces(path):
    """Sparse rows with their columns as the file counts them, labels, and the share read so far.

    There may be no piece, and no row in one.
    """
    from sklearn.datasets import load_svmlight_file

    size = os.path.getsize(path)
    for start in range(0, size, _BYTES):
        stop = min(size, start + _BYTES)
        with readable(path):
            X, y = load_svmlight_file(
                str(path),
                offset=start,
                length=stop - start,
                zero_based=True,
                n_features=np.iinfo(np.int32).max,
            )
        yield X, y, stop / size


def shifted(X, n_columns, zero_based, path):
    """Rows with columns counted from 0, of a file of which it is known how it counts them."""
    import scipy.sparse as sp

    if not zero_based and (X.indices == 0).any():
        raise UserError(
            f"{path} counts its columns from 0 but the model was fitted to a file that counts "
            "from 1; write both files the same way."
        )
    indices = X.indices - int(not zero_based)
    width = max(int(indices.max(initial=-1)) + 1, n_columns)
    return sp.csr_array((X.data, indices, X.indptr), shape=(X.shape[0], width))
