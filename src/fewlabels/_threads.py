"""Run compiled, lock-free work on several cores with plain Python threads."""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import pairwise

from threadpoolctl import ThreadpoolController

_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}


def resolve_n_jobs(n_jobs):
    """Number of threads meant by ``n_jobs``.

    ``None`` means every core this process may use, or ``OMP_NUM_THREADS`` when that
    is set (joblib sets it in its workers, so nested parallelism does not
    oversubscribe). Negative numbers count from the end, as in joblib.
    """
    try:
        available = len(os.sched_getaffinity(0))
    except AttributeError:  # not offered on macOS and Windows
        available = os.cpu_count() or 1
    if n_jobs is None:
        limit = os.environ.get("OMP_NUM_THREADS", "")
        return min(available, int(limit)) if limit.isdigit() and int(limit) else available
    if n_jobs == 0:
        raise ValueError("n_jobs == 0 has no meaning; pass None, a positive number or -1.")
    return n_jobs if n_jobs > 0 else max(1, available + 1 + n_jobs)


@cache
def _blas():
    return ThreadpoolController()


def one_blas_thread():
    """Context in which BLAS uses one thread.

    For matrices of a few hundred rows, where a second thread gains little, and costs a
    hundred times the work when another process holds its core.
    """
    return _blas().limit(limits=1, user_api="blas")


def run_ranges(function, n_items, n_jobs):
    """Call ``function(start, stop)`` over ``range(n_items)`` cut into ranges.

    ``function`` must release the lock and write to disjoint outputs. Four ranges per
    thread keep the threads busy when one core is disturbed.
    """
    if n_jobs == 1 or n_items <= 1:
        function(0, n_items)
        return
    n_ranges = min(n_items, 4 * n_jobs)
    edges = [n_items * k // n_ranges for k in range(n_ranges + 1)]
    run_each([partial(function, start, stop) for start, stop in pairwise(edges)], n_jobs)


def run_each(calls, n_jobs):
    """The results of functions without arguments, which threads call side by side."""
    if n_jobs == 1 or len(calls) <= 1:
        return [call() for call in calls]
    # A forked child inherits the dictionary but not the threads: key by process.
    key = (os.getpid(), n_jobs)
    if key not in _pools:
        _pools[key] = ThreadPoolExecutor(n_jobs, thread_name_prefix="fewlabels")
    futures = [_pools[key].submit(call) for call in calls]
    try:
        return [future.result() for future in futures]
    except BaseException:
        # Ctrl-C: never return while a thread still writes to the caller's arrays.
        for future in futures:
            future.cancel()
        for future in futures:
            if not future.cancelled():
                future.exception()
        raise


def run_in_order(calls):
    """The results of functions without arguments, one after the other.

    Where the caller has chosen a backend of joblib (``joblib.parallel_config``), such as that of a
    Dask cluster, its workers call them.
    """
    from joblib import Parallel, delayed, effective_n_jobs  # which takes its time

    if effective_n_jobs(None) == 1:
        return (call() for call in calls)
    return iter(Parallel()(delayed(call)() for call in calls))
