"""Run compiled, lock-free work on several cores with plain Python threads."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from itertools import pairwise
from threading import Lock, local
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

_T = TypeVar("_T")

# Calls that a worker gets at once, at most: after Ctrl-C those that came back count.
_MAX_BATCH = 8
# Seconds after which a lock that is held for microseconds is lost.
_LOCK_TIMEOUT = 1.0

# By the number of threads that compute, the calling one included; a forked process has none.
_pools: dict[int, ThreadPoolExecutor] = {}


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Return number of threads meant by ``n_jobs``.

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
def _find_blas() -> ThreadpoolController:
    """Return the BLAS libraries only: asking others for their state takes long."""
    return ThreadpoolController().select(user_api="blas")


class _Limit:
    """The limit of this process, from the first thread that needs it to the last one's end."""

    lock, users, limiter = Lock(), 0, None  # users are threads
    own = local()  # of one thread: its contexts


@contextmanager
def _hold_lock() -> Iterator[None]:
    """Hold the lock of the limit; Ctrl-C may leave it closed, so it is replaced then."""
    lock = _Limit.lock
    if not lock.acquire(timeout=_LOCK_TIMEOUT):
        lock = _Limit.lock = Lock()
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Context in which BLAS uses one thread.

    For matrices of a few hundred rows, where a second thread gains little, and costs a
    hundred times the work when another process holds its core.
    """
    own, counted = _Limit.own, False
    try:
        if getattr(own, "contexts", 0) > 0:  # this thread has the limit already
            own.contexts += 1
        else:
            with _hold_lock():
                if not _Limit.users:
                    _restore()  # if Ctrl-C left one
                    _Limit.limiter = _find_blas().limit(limits=1).__enter__()
                _Limit.users += 1
                own.contexts = 1
        counted = True
        yield
    finally:
        own.contexts = getattr(own, "contexts", 0) - counted
        if own.contexts <= 0:
            with _hold_lock():
                _Limit.users -= counted
                if not _Limit.users:
                    _restore()


def _restore() -> None:
    limiter, _Limit.limiter = _Limit.limiter, None
    if limiter is not None:
        limiter.__exit__(None, None, None)


def _after_fork_in_child() -> None:
    """In a forked process, forget threads that it doesn't have, all but the one that forked."""
    _pools.clear()
    _Limit.lock, _Limit.users = Lock(), int(getattr(_Limit.own, "contexts", 0) > 0)
    if not _Limit.users:
        _restore()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def run_ranges(function: Callable[[int, int], object], n_items: int, n_jobs: int) -> None:
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


def run_each(calls: Sequence[Callable[[], _T]], n_jobs: int) -> list[_T]:
    """Return the results of functions without arguments, called on ``n_jobs`` threads.

    The calling thread is one of them: waking another takes longer than many calls do.
    """
    if n_jobs == 1 or len(calls) <= 1:
        return [call() for call in calls]
    pool = _pools.get(n_jobs)
    if pool is None:
        pool = _pools.setdefault(
            n_jobs, ThreadPoolExecutor(n_jobs - 1, thread_name_prefix="fewlabels")
        )
    futures = [pool.submit(call) for call in calls[1:]]
    try:
        results: list[Any] = [calls[0](), *[None] * len(futures)]
        # Other threads begin with the first calls, this one takes the last ones.
        for k in range(len(futures), 0, -1):
            if futures[k - 1].cancel():
                results[k] = calls[k]()
        for k, future in enumerate(futures, start=1):
            if not future.cancelled():
                results[k] = future.result()
        return results
    except BaseException:
        # Ctrl-C: never return while a thread still writes to the caller's arrays.
        for future in futures:
            future.cancel()
        for future in futures:
            if not future.cancelled():
                future.exception()
        raise


def n_workers() -> int:
    """Return how many calls ``run_in_order`` makes at a time: 1 unless a backend was chosen."""
    from joblib import effective_n_jobs  # which takes its time

    return effective_n_jobs(None)


def run_in_order(calls: Iterable[Callable[[], _T]], n_calls: int | None = None) -> Iterator[_T]:
    """Yield the results of functions without arguments, one after the other.

    Where the caller has chosen a backend of joblib (``joblib.parallel_config``), such as one of a
    Dask cluster, its workers call them. Where it is known how many there are, each may get some
    at once, which share what they have in common; else calls are taken as workers become free.
    """
    n_jobs = n_workers()
    if n_jobs == 1:
        for call in calls:
            yield call()
        return
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    one_by_one = getattr(get_active_backend()[0], "supports_return_generator", False)
    how: dict[str, Any] = {"pre_dispatch": n_jobs, "batch_size": 1}
    if n_calls is not None:
        how = {"pre_dispatch": "all", "batch_size": min(_MAX_BATCH, -(-n_calls // (2 * n_jobs)))}
    how["return_as"] = "generator" if one_by_one else "list"
    results = iter(Parallel(**how)(delayed(_call_on_worker)(call) for call in calls))
    try:
        for result in results:  # noqa: UP028 - it is closed below, where that is not told
            yield result
    finally:
        if one_by_one:
            with warnings.catch_warnings():  # that others are given up
                warnings.filterwarnings("ignore", "[0-9]+ tasks", UserWarning)
                results.close()


def _call_on_worker(call: Callable[[], _T]) -> _T:
    """Call a function on a worker, whose tasks start no others."""
    from joblib import parallel_config

    with parallel_config("sequential"), one_blas_thread():
        return call()
