"""Reading ahead and writing behind."""

import threading

import pytest

from fewlabels.tables.background import background_writer, prefetch


def test_ahead_gives_all_in_order_and_makes_few():
    made, seen, lead = [], [], []

    def pieces():
        for k in range(20):
            made.append(k)
            yield k

    for piece in prefetch(pieces(), depth=3):
        seen.append(piece)
        lead.append(len(made) - len(seen))
    assert seen == list(range(20))
    assert max(lead) <= 3 + 1  # and the one that is being made


def test_ahead_raises_where_the_piece_would_be():
    def pieces():
        yield 1
        raise ValueError("no second piece")

    found = prefetch(pieces())
    assert next(found) == 1
    with pytest.raises(ValueError, match="no second piece"):
        next(found)


def test_ahead_ends_its_source_when_it_is_left():
    ended = []

    def pieces():
        try:
            while True:
                yield 0
        finally:
            ended.append(True)

    before = threading.active_count()
    found = prefetch(pieces())
    next(found)
    found.close()
    assert ended == [True]
    assert threading.active_count() == before


def test_behind_calls_in_order_and_waits():
    done = []
    with background_writer(done.append) as call:
        for k in range(50):
            call(k)
    assert done == list(range(50))


@pytest.mark.parametrize("n", [1, 10])
def test_behind_raises_what_a_call_raised(n):
    def fail(k):
        raise OSError("full")

    with pytest.raises(OSError, match="full"), background_writer(fail) as call:
        for k in range(n):
            call(k)


def test_behind_drops_calls_when_the_block_fails():
    done, first, go_on = [], threading.Event(), threading.Event()

    def slow(k):
        first.set()
        go_on.wait(10)
        done.append(k)

    with pytest.raises(RuntimeError), background_writer(slow) as call:
        call(1)
        call(2)
        first.wait(10)
        go_on.set()
        raise RuntimeError
    assert done[0] == 1
