"""Reading ahead and writing behind, each in a thread of its own and by a few pieces only."""

import contextlib
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar, TypeVarTuple, cast

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
_DONE = object()


def prefetch(pieces: Iterator[T], depth: int = 2) -> Generator[T, None, None]:
    """Make the next pieces of an iterator in another thread while the consumer works on one."""
    pool = ThreadPoolExecutor(1)
    waiting = deque(pool.submit(next, pieces, _DONE) for _ in range(depth))
    try:
        while (piece := waiting.popleft().result()) is not _DONE:
            waiting.append(pool.submit(next, pieces, _DONE))
            yield cast("T", piece)
            del piece
    finally:
        pool.shutdown(cancel_futures=True)
        if hasattr(pieces, "close"):
            pieces.close()


@contextlib.contextmanager
def background_writer(
    function: Callable[[*Ts], object], depth: int = 2
) -> Iterator[Callable[[*Ts], None]]:
    """Give a function that calls another later, in order, in one other thread.

    What a call raises is raised by a later one, or at the end of the block, where all are done.
    """
    waiting: deque[Future[object]] = deque()

    def call(*arguments: *Ts) -> None:
        if len(waiting) >= depth:
            waiting.popleft().result()
        waiting.append(pool.submit(function, *arguments))

    pool = ThreadPoolExecutor(1)
    try:
        yield call
        while waiting:
            waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
