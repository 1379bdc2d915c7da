"""What a report leaves out where the time is short."""

from types import SimpleNamespace

import numpy as np

from fewlabels import PUSVM
from fewlabels._util.deadline import Deadline
from fewlabels.report.evidence.held_out import cross_fit_classes, cross_fit_positive
from fewlabels.report.evidence.model_tests import check_labels


def test_no_machine_is_trained_that_would_end_too_late():
    rng = np.random.default_rng(0)
    y = (np.arange(80) < 20).astype(int)
    X = rng.normal(size=(80, 2)) + 2.0 * y[:, None]
    machine = PUSVM(prior=0.3).fit(X, y)
    end = Deadline(1.0)
    held = cross_fit_positive(machine, X, y, end, 30.0)
    assert not len(held.rows) and held.reason.startswith("there was no time")
    assert end.cut == ["no held-out predictions"]
    # A short one is trained in any case, and so is one without a deadline.
    assert cross_fit_positive(machine, X, y, Deadline(0.0), 0.01).folds == 1
    assert cross_fit_positive(machine, X, y, Deadline(), 30.0).folds == 5


def test_labels_without_held_out_predictions_are_counted(rng):
    X, y = rng.normal(size=(30, 2)), np.repeat([0, 1, -1], [8, 6, 16])
    model, unlabelled = SimpleNamespace(), np.flatnonzero(y < 0)
    model.left_out_decisions_ = np.where(np.arange(30) < 10, 1.0, np.nan)[:, None]
    end = Deadline(10.0)
    assert len(cross_fit_classes(model, X, y, unlabelled, end, 3.3).rows) == 10
    assert end.cut == [
        "error rates are based on 10 of 14 labels, because models without part of the labels "
        "would take about 33 s, and 6 s were left for them"
    ]
    model.left_out_decisions_[:14] = 1.0
    end = Deadline(10.0)
    assert len(cross_fit_classes(model, X, y, unlabelled, end, 3.3).rows) == 14
    assert not end.cut


def test_a_test_of_the_labels_that_has_no_time_is_named(rng):
    X = np.concatenate([rng.normal(2.0, 1.0, (60, 2)), rng.normal(0.0, 2.0, (200, 2))])
    y = np.repeat([1, 0], [40, 220])
    model, late = PUSVM(prior=0.1).fit(X, y), Deadline(0.0)
    assert check_labels(model, X, y, late) == (None, "there was no time")
    assert late.cut == ["no test whether the labelled rows are a random sample"]
    early = Deadline(60.0)
    result, why_not = check_labels(model, X, y, early)
    assert result is not None and not why_not and not early.cut
    few = np.where(np.cumsum(y) <= 19, y, 0)
    assert check_labels(model, X, few, early) == (
        None,
        "that needs at least 20 labelled rows, and there are 19",
    )
