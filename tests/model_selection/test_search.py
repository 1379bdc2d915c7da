"""The loop of every search: order, cost, and each way to end it."""

from types import SimpleNamespace

import joblib
import numpy as np
import pytest

from fewlabels._util.warn import warn
from fewlabels.model_selection.tuning import search as tuning_search
from fewlabels.model_selection.tuning.search import Search, make_trials


@pytest.fixture
def clock(monkeypatch):
    """Seconds that tests set."""
    now = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(tuning_search, "time", SimpleNamespace(perf_counter=lambda: now.seconds))
    return now


def double(candidate, search):
    search.fits += 1
    return 2 * candidate


def scorer(clock, seconds, interrupted=None):
    """A function that takes so many seconds, by candidate."""

    def score(candidate, search):
        clock.seconds += seconds[candidate]
        search.note_duration(seconds[candidate])
        if candidate == interrupted:
            raise KeyboardInterrupt
        return double(candidate, search)

    return score


def test_candidates_are_scored_in_their_order():
    search = Search(60, False, 0)
    assert search.run("numbers", [3, 1, 2], double) == [(3, 6), (1, 2), (2, 4)]
    assert (search.fits, search.stopped) == (3, "")


def test_without_candidates_nothing_is_scored():
    search = Search(60, False, 0)
    assert search.run("numbers", [], double) == []
    assert (search.fits, search.stopped) == (0, "")


def test_time_ends_before_the_first_candidate(clock):
    search = Search(5, False, 0)
    search.note_duration(5.0)  # as long as a fit is expected to take
    assert search.run("numbers", [1, 2], double) == []
    assert (search.fits, search.stopped) == (0, "time budget")
    assert search.early_end_note == " The search was ended early by its time budget."


def test_time_ends_during_the_first_candidate():
    search, begun = Search(60, False, 0), []
    assert search.run("numbers", [1, 2], lambda candidate, search: begun.append(candidate)) == []
    assert begun == [1]


def test_time_ends_between_candidates(clock):
    search = Search(5, False, 0)
    score = scorer(clock, [1.0, 2.0, 1.0])
    assert search.run("numbers", range(3), score) == [(0, 0), (1, 2)]  # a third might take 2 s
    assert (search.fits, search.stopped) == (2, "time budget")
    assert search.run("numbers", range(3), score) == []


def test_time_that_ends_with_the_last_candidate_ends_nothing_early(clock):
    search = Search(5, False, 0)
    assert len(search.run("numbers", range(2), scorer(clock, [1.0, 4.0]))) == 2
    assert search.stopped == "" == search.early_end_note


def test_time_is_left_for_later_fits(clock):
    search = Search(100, False, 0, total_seconds=10.0, fits_to_come=3)
    # One more and three fits take 4 s, so none is begun from 6 s on.
    assert len(search.run("numbers", range(9), scorer(clock, [1.0] * 9))) == 6
    assert search.stopped == "time budget"


def test_a_run_may_end_before_the_search(clock):
    search = Search(100, False, 0)
    assert len(search.run("numbers", range(9), scorer(clock, [1.0] * 9), until=3.5)) == 4
    assert search.stopped == "" and len(search.run("numbers", range(9), double)) == 9


def test_ctrl_c_keeps_what_was_scored(clock):
    search = Search(60, False, 0)
    score = scorer(clock, [1.0, 1.0, 1.0], interrupted=2)
    assert search.run("numbers", range(3), score) == [(0, 0), (1, 2)]
    assert search.stopped == "Ctrl-C" and "ended early by Ctrl-C" in search.early_end_note
    assert search.run("numbers", range(3), double) == []


@pytest.mark.parametrize("progress", [False, True])
def test_an_error_of_a_candidate_is_raised(progress):
    def divide(candidate, search):
        return 1 / candidate

    search = Search(60, progress, 0)
    with pytest.raises(ZeroDivisionError):
        search.run("numbers", [1, 0, 2], divide)
    assert search.stopped == "" and search.advance_bar is None


def test_the_progress_bar_shows_the_scores_so_far(monkeypatch):
    search, shown = Search(60, True, 0), []
    monkeypatch.setattr(search, "advance", shown.append)
    search.run("numbers", [1, 2], double, describe=lambda scored: f"{len(scored)}: {scored[-1]}")
    assert shown == ["1: (1, 2)", "2: (2, 4)"]


def test_other_threads_score_the_same_in_the_same_order():
    def score(candidate, search):
        warn(f"of {candidate}", UserWarning)
        return double(candidate, search)

    search = Search(60, False, 0)
    with joblib.parallel_config("threading", n_jobs=2), pytest.warns(UserWarning) as warned:
        assert search.run("numbers", range(5), score) == [(k, 2 * k) for k in range(5)]
    assert search.fits == 5 and [str(one.message) for one in warned] == [
        f"of {k}" for k in range(5)
    ]


def test_all_candidates_run_on_a_fold_before_the_next():
    splits = [(np.array([1]), np.array([0])), (np.array([0]), np.array([1]))]
    trials = make_trials(["a", "b"], splits)
    assert [(one.candidate, one.place, one.fold) for one in trials] == [
        ("a", 0, 0),
        ("b", 1, 0),
        ("a", 0, 1),
        ("b", 1, 1),
    ]
    assert [one.test.tolist() for one in trials] == [[0], [0], [1], [1]]
