"""Reading ahead and writing behind, each in a thread of its own and by a few pieces only."""

import contextlib
from collections import deque
from concurrent.futures import ThreadPoolExecutor

_DONE = object()


def ahead(pieces, depth=2):
    """Make the next pieces of an iterator in another thread while the consumer works on one."""
    pool = ThreadPoolExecutor(1)
    waiting = deque(pool.submit(next, pieces, _DONE) for _ in range(depth))
    try:
        while (piece := waiting.popleft().result()) is not _DONE:
            waiting.append(pool.submit(next, pieces, _DONE))
            yield piece
            del piece
    finally:
        pool.shutdown(cancel_futures=True)
        if hasattr(pieces, "close"):
            pieces.close()


@contextlib.contextmanager
def behind(function, depth=2):
    """Give a function that calls another later, in order, in one other thread.

    What a call raises is raised by a later one, or at the end of the block, where all are done.
    """
    waiting = deque()

    def call(*arguments):
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
