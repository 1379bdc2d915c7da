"""Threads of the linear algebra library in the processes that are started from here on."""

from __future__ import annotations

import os

_NAMES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def limit_threads(n):
    """Let processes started later use ``n`` threads; None leaves it to the library."""
    if n is not None:
        os.environ.update(dict.fromkeys(_NAMES, str(n)))
