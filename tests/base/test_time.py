"""Calls end soon after ``max_time`` and after Ctrl-C, with a machine that is whole or none."""

import os
import warnings
from dataclasses import replace

import numpy as np
import pytest
from processes import run_script
from sklearn.exceptions import ConvergenceWarning

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, PUEnsemble
from fewlabels._util.deadline import Deadline
from fewlabels.semi_supervised import calibrator, trainer
from fewlabels.solvers import Status

AT_ONCE = 1e-9


def pile(n=1200, labels=400):
    rng = np.random.default_rng(0)
    positive = np.arange(n) < n // 2
    return rng.normal(size=(n, 3)) + positive[:, None], (np.arange(n) < labels).astype(int)


def few(n=300):
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 2
    return rng.normal(size=(n, 2)) + 2.0 * truth[:, None], np.where(np.arange(n) < 20, truth, -1)


def test_deadlines():
    assert not Deadline().is_over() and not Deadline().part(0.5).has_end
    late = Deadline(100.0)
    part = late.part(0.5)
    assert 40.0 < part.left() <= 50.0 < late.left() and part.cut is late.cut
    assert Deadline(0.0).is_over() and Deadline(0.0).left() == 0.0


@pytest.mark.filterwarnings("ignore:the class prior is uncertain")
def test_prior_from_fewer_rows():
    X, y = pile()
    with pytest.warns(ConvergenceWarning) as told:
        model = PUSVM(max_time=AT_ONCE).fit(X, y)
    (message,) = (str(one.message) for one in told if one.category is ConvergenceWarning)
    assert "prior was estimated from at most 300 positive and 300 unlabelled rows" in message
    assert "bounds on leave-one-out scores" in message
    assert 0.0 < model.prior_ < 1.0 and model.prior_interval_[0] <= model.prior_
    assert np.isfinite(model.decision_function(X)).all() and len(set(model.predict(X))) == 2
    # Nothing is left of the deadline: the same machine without one is that of a fresh one.
    whole = model.set_params(max_time=None).fit(X, y)
    again = PUSVM().fit(X, y)
    assert whole.prior_ == again.prior_ and whole.fit_status_ == 0
    np.testing.assert_array_equal(whole.decision_function(X), again.decision_function(X))


@pytest.mark.filterwarnings("ignore:the class prior is uncertain")
def test_time_enough_changes_nothing():
    X, y = pile(600, 200)
    for make in (PUSVM(), PUEnsemble(0.3, n_bags=3)):
        plain = make.fit(X, y).decision_function(X)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            timed = make.set_params(max_time=600.0).fit(X, y).decision_function(X)
        np.testing.assert_allclose(timed, plain, atol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_bags_that_were_trained_count(kernel):
    X, y = pile()
    with pytest.warns(ConvergenceWarning, match="1 of n_bags=5 bags were trained"):
        model = PUEnsemble(0.3, n_bags=5, max_time=AT_ONCE, kernel=kernel).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    # The first stage is that of one bag.
    one = PUEnsemble(0.3, n_bags=1, kernel=kernel).fit(X, y)
    np.testing.assert_allclose(model.auc_, one.auc_, atol=1e-9)


@pytest.mark.parametrize("Machine", [SVDD, OneClassSVM])
def test_thresholds_of_as_many_rows_as_there_is_time_for(Machine):
    X, _ = pile()
    settings = {"target_fpr": 0.05, "calibration": "leave-one-out"}
    with pytest.warns(ConvergenceWarning) as told:
        model = Machine(max_time=AT_ONCE, **settings).fit(X)
    assert any("calibration scores are from training rows" in str(one.message) for one in told)
    assert 0.0 <= np.mean(model.predict(X) < 0) < 0.2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.set_params(max_time=None).resume()
    assert len(model.calibration_scores_) in (50, len(X))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_that_the_path_has_yet_to_reach_have_decisions(n_classes, rng):
    X, y = rng.normal(size=(60, 2)), np.where(np.arange(60) < 12, np.arange(60) % n_classes, -1)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = S3VM(solver="path", max_time=AT_ONCE).fit(X, y)
    assert not model.is_caught_up_
    np.testing.assert_allclose(model.training_decisions_, model.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("Machine", [SVDD, OneClassSVM, PUSVM])
def test_updates_stop_and_go_on(Machine):
    X, y = pile()
    labels = (y,) if Machine is PUSVM else ()
    make = PUSVM(0.3) if Machine is PUSVM else Machine()
    model = make.fit(X[300:700], *(part[300:700] for part in labels))
    model.max_time = AT_ONCE
    with pytest.warns(ConvergenceWarning, match=r"stopped after max_time=1e-09 s; .* resume\(\)"):
        model.partial_fit(X[700:], *(part[700:] for part in labels))
    assert not model.is_caught_up_
    assert np.isfinite(model.score_samples(X) if not labels else model.predict(X)).all()
    model.max_time = None
    model.resume()
    assert model.is_caught_up_
    model.max_time = AT_ONCE
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model.forget(np.arange(100, 200))
    model.max_time = None
    model.resume()
    rows = np.r_[300:400, 500:1200]
    fresh = make.set_params(gamma=model.gamma_, tol=1e-8)
    fresh = type(fresh)(**fresh.get_params()).fit(X[rows], *(part[rows] for part in labels))
    np.testing.assert_allclose(
        model.function_(X) - model.function_.bias, fresh.function_(X) - fresh.function_.bias,
        atol=1e-5 * np.abs(fresh.dual_coef_).sum(),
    )  # fmt: skip


def test_a_path_from_scratch_stops_and_goes_on():
    X, y = few()
    for update in ("keep", "paper"):
        whole = S3VM(solver="path", balance_update=update).fit(X, y)
        model = S3VM(solver="path", balance_update=update, max_time=AT_ONCE)
        with pytest.warns(ConvergenceWarning, match="max_time"):
            model.fit(X, y)
        assert not model.is_caught_up_ and set(model.predict(X)) <= {0, 1}
        assert model.transduction_.shape == (300,) and np.isfinite(model.objective_)
        for _ in range(30):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.set_params(max_time=3e-3).resume()
        model.set_params(max_time=None).resume()
        assert model.objective_ == pytest.approx(whole.objective_, rel=1e-9)
        assert model.kkt_violation_ < 1e-8
    model.max_time = AT_ONCE
    with pytest.warns(ConvergenceWarning, match="not tried as a search for a better minimum"):
        assert model.consolidate() is False


_CONTROL_C = """
import os, signal, sys, threading, time, warnings
import numpy as np
from sklearn.exceptions import NotFittedError
from fewlabels import *
signal.signal(signal.SIGINT, signal.default_int_handler)
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(30_000, 6))
X[:10_000] += 1
pu, few = np.zeros(30_000), np.full(30_000, -1)
pu[:3000] = 1
few[:40], few[-40:] = 1, 0
some = np.r_[0:40, 100:2500, 29_960:30_000]
{before}
pressed = []
def press():
    time.sleep(0.7)
    pressed.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press, daemon=True).start()
try:
    {call}
    if not pressed or not {returns}:
        sys.exit("ended before the signal, or went on after it")
except KeyboardInterrupt:
    pass
late = time.process_time() - pressed[0]
assert late < {seconds}, late
if model is not None:
    try:
        assert np.isin(model.predict(X[:50]), [-1, 0, 1]).all()
        assert model.support_.ndim == 1 and model.n_iter_ >= 0 and model.dual_coef_.ndim == 2
    except NotFittedError:
        pass
print(late)
"""
_CALLS = {
    "svdd": ("model = SVDD(tol=1e-10, gamma=3.)", "model.fit(X)"),
    "calibration": (
        "model = OneClassSVM(nu=.5, gamma=1., target_fpr=.05, calibration='leave-one-out')",
        "model.fit(X[:6000])",
    ),
    "prior": ("model = PUSVM()", "model.fit(X, pu)"),
    "bags": ("model = PUEnsemble(.2)", "model.fit(X, pu)"),
    "s3vm": ("model = S3VM(tol=1e-9)", "model.fit(X, few)"),
    "path": ("model = S3VM(solver='path')", "model.fit(X[some], few[some])"),
    "branches": (
        "model = S3VM(solver='branch-and-bound', max_nodes=10**6)",
        "model.fit(X[some[:300]], np.where(np.arange(300) < 6, np.arange(300) % 2, -1))",
    ),
    "tune": ("model = None", "tune(PUSVM(), X[:6000], pu[:6000])"),
    "partial_fit": ("model = SVDD(slack='linear', nu=.3).fit(X[:500])",
                    "model.partial_fit(X[500:9000])"),
    "consolidate": ("model = S3VM().fit(X[some], few[some])",
                    "model.consolidate(['row-by-row', 'C_star'])"),
    "leave one out": ("model = OneClassSVM(nu=.5, gamma=1.).fit(X[:6000])",
                      "model.leave_one_out_decisions()"),
    "predict": ("model = OneClassSVM(nu=.5).fit(X[:6000])\nmany = np.tile(X, (100, 1))",
                "model.predict(many)"),
}  # fmt: skip


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
@pytest.mark.parametrize("what", _CALLS)
def test_control_c(what, tmp_path):
    before, call = _CALLS[what]
    # Seconds of a core, of which other programs take no part; there are two at most.
    script = _CONTROL_C.format(before=before, call=call, seconds=15, returns=what == "tune")
    done = run_script(script, tmp_path)
    assert done.returncode == 0, done.stderr


def three_clusters(n, n_labels):
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 3
    X = rng.normal(size=(n, 2)) + 3.0 * np.array([[0, 0], [0, 1], [1, 0]])[truth]
    return X, np.where(np.arange(n) < n_labels, truth, -1), truth


def test_probabilities_in_time_stand_on_fewer_rows(monkeypatch):
    """Many rows: machines without some of the labels take about the seconds that there are."""
    monkeypatch.setattr(calibrator, "_PILOT_ROWS", 40)
    X, y, truth = three_clusters(600, 18)
    sizes, fit = [], S3VM.fit

    def counted(self, X, *args, **kwargs):
        sizes.append(len(X))
        return fit(self, X, *args, **kwargs)

    monkeypatch.setattr(S3VM, "fit", counted)
    model = S3VM(probability="isotonic").fit(X, y)
    curve, cut = model.curve_within(0.0)
    assert sizes == [600, 40] and curve is model.curve_
    assert "1 of 5 models" in cut[0] and "40 of 600 rows" in cut[1]
    assert np.mean(model.predict(X) == truth) > 0.8
    # With time for all, all rows are learnt from.
    again = S3VM(probability="isotonic").fit(X, y)
    assert again.curve_within(3600.0)[1] == []
    assert sizes[2:4] == [600, 40] and all(594 <= size < 600 for size in sizes[4:])
    assert len(sizes) == 9


@pytest.mark.parametrize("status, same", [(Status.STALLED, True), (Status.MAX_TIME, False)])
def test_a_class_that_rounding_ends_leaves_the_others_their_time(monkeypatch, status, same):
    X, y, _ = three_clusters(90, 18)
    expected, train = S3VM().fit(X, y).decision_function(X), trainer.train

    def stalls(data, settings, signs_before=None):
        found = train(data, settings, signs_before)
        return replace(found, result=replace(found.result, status=status))

    monkeypatch.setattr(trainer, "train", stalls)
    with pytest.warns(ConvergenceWarning):
        found = S3VM().fit(X, y).decision_function(X)
    assert np.array_equal(found, expected) is same
