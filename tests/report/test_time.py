"""What a report leaves out where the time is short."""

import numpy as np

from fewlabels import PUSVM
from fewlabels._deadline import Deadline
from fewlabels.report.evidence.held_out import cross_fit_positive


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
