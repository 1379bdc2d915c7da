"""Which columns of a pipeline's input each encoded column comes from."""

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from ..._typing import BoolArray, FloatArray, IntArray
from .inputs import Table, dense, mix_rows, stack_rows

# Mixed rows that the finding is tried on.
_TRIALS = 64
_SAME = 1e-9


def find_sources(steps: Pipeline, rows: Table, background: Table) -> IntArray | None:
    """Find the input column of each encoded column; None if one depends on several.

    Found by trial: the input columns are moved between rows, one at a time, and the encoded
    columns that change are seen. The finding is checked on rows mixed at random.
    """
    together = stack_rows(rows, background)
    encoded = dense(steps.transform(together)).astype(float)
    n, n_columns = together.shape
    rng = check_random_state(0)
    if encoded.shape[1] == n_columns:
        source = np.arange(n_columns)
        if _confirm_sources(steps, together, encoded, source, rng):
            return source
    source = np.full(encoded.shape[1], -1)
    for column in range(n_columns):
        whose = np.tile(np.arange(n)[:, None], n_columns)
        # Every row takes the next one's value: what is no constant changes somewhere.
        whose[:, column] = np.roll(whose[:, column], 1)
        found = dense(steps.transform(mix_rows(together, whose))).astype(float)
        changed = _is_different(found, encoded).any(axis=0)
        if (source[changed] >= 0).any():
            return None
        source[changed] = column
    # Those that never change belong to nobody; any column will do.
    source[source < 0] = 0
    return source if _confirm_sources(steps, together, encoded, source, rng) else None


def _confirm_sources(
    steps: Pipeline,
    together: Table,
    encoded: FloatArray,
    source: IntArray,
    rng: np.random.RandomState,
) -> bool:
    n, n_columns = together.shape
    whose = rng.randint(n, size=(_TRIALS, n_columns))
    expected = encoded[whose[:, source], np.arange(encoded.shape[1])]
    found = dense(steps.transform(mix_rows(together, whose))).astype(float)
    return found.shape == expected.shape and not _is_different(found, expected).any()


def _is_different(a: FloatArray, b: FloatArray) -> BoolArray:
    return np.abs(a - b) > _SAME * (1.0 + np.abs(b))
