"""Limits, warnings, messages, callbacks and Ctrl-C."""

import os
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from processes import run_script
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from fewlabels import SVDD, OneClassSVM

MACHINES = [OneClassSVM, SVDD]


def is_usable(machine, X):
    """Every attribute is there, the duals are feasible, scores are finite."""
    total = 1.0 if isinstance(machine, SVDD) else machine.nu * len(X)
    assert machine.dual_coef_.sum() == pytest.approx(total, rel=1e-9)
    assert np.all(machine.dual_coef_ > 0)
    assert np.isfinite(machine.decision_function(X)).all()
    assert machine.duality_gap_ >= -1e-9 * max(1.0, abs(machine.objective_))
    assert set(machine.predict(X)) <= {-1, 1}
    return True


@pytest.mark.parametrize("Machine", MACHINES)
@pytest.mark.parametrize("limit", [{"max_iter": 0}, {"max_iter": 3}, {"max_time": 1e-9}])
def test_limits_warn_and_leave_a_usable_machine(Machine, limit, blob):
    (name,) = limit
    with pytest.warns(ConvergenceWarning, match=f"raise {name}") as caught:
        machine = Machine(**limit).fit(blob)
    # The warning points at the line that called fit.
    assert any(w.filename == __file__ for w in caught)
    assert machine.fit_status_ == 1
    assert machine.n_iter_ <= 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert is_usable(machine, blob)


@pytest.mark.parametrize("Machine", MACHINES)
def test_a_finished_fit_does_not_warn(Machine, blob):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine = Machine(max_time=60.0, max_iter=10**7).fit(blob)
    assert machine.fit_status_ == 0
    assert is_usable(machine, blob)


@pytest.mark.parametrize("Machine", MACHINES)
def test_callback_sees_every_round_and_can_stop(Machine, rng):
    X = rng.normal(size=(5000, 4))
    seen = []
    machine = Machine().fit(X, callback=seen.append)
    assert machine.fit_status_ == 0
    assert len(seen) >= 2
    assert seen == machine.history_
    assert [entry["round"] for entry in seen] == list(range(1, len(seen) + 1))
    for entry in seen:
        assert {"round", "violation", "seconds", "kernel_values"} <= set(entry)
    for key in ("seconds", "kernel_values"):
        assert [entry[key] for entry in seen] == sorted(entry[key] for entry in seen)
    with pytest.warns(ConvergenceWarning, match="callback"):
        machine.fit(X, callback=lambda entry: entry["round"] >= 1)
    assert machine.fit_status_ == 1 and len(machine.history_) == 1
    assert is_usable(machine, X)


@pytest.mark.parametrize("Machine", MACHINES)
def test_an_error_in_a_callback_is_the_users(Machine, blob):
    def callback(entry):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        Machine(tol=1e-6).fit(blob, callback=callback)


@pytest.mark.parametrize("Machine", MACHINES)
def test_interrupt_leaves_fitted_attributes(Machine, blob):
    def callback(entry):
        raise KeyboardInterrupt

    machine = Machine(tol=1e-6)
    with (
        pytest.warns(ConvergenceWarning, match="interrupted"),
        pytest.raises(KeyboardInterrupt),
    ):
        machine.fit(blob, callback=callback)
    assert machine.fit_status_ == 1
    assert is_usable(machine, blob)


# In a process of its own: signals reach the main thread only, where tests need not run, and
# are ignored by children of a shell's background jobs.
_CONTROL_C = """
import os, signal, sys, threading, warnings
import numpy as np
from fewlabels import {name} as Machine

# A large problem at a tolerance that takes long, with coarse start and threads.
signal.signal(signal.SIGINT, signal.default_int_handler)
X = np.random.default_rng({seed}).normal(size=(30_000, 5))
machine = Machine(tol=1e-10, gamma=3.0)  # narrow: most rows become support vectors
Machine().fit(X[:3000])  # compile what can be compiled
started = threading.Event()

def press():
    started.wait(30)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=press).start()
warnings.simplefilter("ignore")
try:
    machine.fit(X, callback=lambda entry: started.set())
    sys.exit("the fit ended before the signal; make the problem larger")
except KeyboardInterrupt:
    assert len(machine.support_) == machine.dual_coef_.shape[1]
    assert np.isfinite(machine.decision_function(X[:100])).all()
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
@pytest.mark.parametrize("Machine", MACHINES)
def test_control_c_is_answered_soon(Machine, rng, tmp_path):
    script = _CONTROL_C.format(name=Machine.__name__, seed=rng.integers(2**31))
    done = run_script(script, tmp_path)
    assert done.returncode == 0, done.stderr


def test_interrupt_during_the_coarse_start(monkeypatch, rng):
    # The sample is solved by the same engine, which answers Ctrl-C itself: the outer
    # fit has to end as well.
    from fewlabels.solvers.engine import engine

    calls = []

    def interrupted(*args, **kwargs):
        calls.append(1)
        raise KeyboardInterrupt

    monkeypatch.setattr(engine, "solve_block", interrupted)
    X = rng.normal(size=(8000, 3))
    machine = OneClassSVM()
    with pytest.raises(KeyboardInterrupt), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine.fit(X)
    assert len(calls) == 1
    assert np.isfinite(machine.decision_function(X[:10])).all()


@pytest.mark.parametrize("Machine", MACHINES)
def test_verbose_prints_and_silence_does_not(Machine, blob, capsys):
    Machine().fit(blob)
    assert capsys.readouterr().out == ""
    Machine(verbose=True).fit(blob)
    out = capsys.readouterr().out
    assert out.startswith(f"[{Machine.__name__}] round 1: violation")


@pytest.mark.parametrize("Machine", MACHINES)
@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"kernel": "gaussian"}, "kernel"),
        ({"gamma": -1.0}, "gamma"),
        ({"gamma": "big"}, "gamma"),
        ({"tol": 0.0}, "tol"),
        ({"nu": 0.0}, "nu"),
        ({"nu": 1.5}, "nu"),
        ({"cache_size": 0}, "cache_size"),
        ({"degree": 2.5}, "degree"),
        ({"max_iter": -2}, "max_iter"),
        ({"max_time": 0}, "max_time"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"n_jobs": 1.5}, "n_jobs"),
        ({"random_state": "seed"}, "random_state"),
    ],
)
def test_wrong_parameters(Machine, parameters, message, blob):
    with pytest.raises(ValueError, match=message):
        Machine(**parameters).fit(blob)


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"C": 0.0}, "C"),
        ({"slack": "hinge"}, "slack"),
        ({"solver": "simplex"}, "solver"),
        ({"nu": 0.1}, "nu is defined for slack='linear' only"),
        ({"slack": "linear", "C": 1e-5}, r"pass C >= 0\.00333"),
    ],
)
def test_wrong_parameters_of_svdd(parameters, message, blob):
    with pytest.raises(ValueError, match=message):
        SVDD(**parameters).fit(blob)


@pytest.mark.parametrize("Machine", MACHINES)
def test_wrong_data(Machine, blob):
    machine = Machine()
    with pytest.raises(NotFittedError):
        machine.predict(blob)
    with pytest.raises(ValueError, match="NaN"):
        machine.fit(np.where(blob > 2, np.nan, blob))
    with pytest.raises(ValueError, match="infinity"):
        machine.fit(np.where(blob > 2, np.inf, blob))
    with pytest.raises(ValueError, match="0 sample"):
        machine.fit(blob[:0])
    with pytest.raises(ValueError, match="Expected 2D array"):
        machine.fit(blob[:, 0])
    with pytest.raises(ValueError, match="square"):
        Machine(kernel="precomputed").fit(blob)
    machine.fit(blob)
    with pytest.raises(ValueError, match="features"):
        machine.predict(blob[:, :2])
    with pytest.raises(ValueError, match="sparse"):
        machine.predict(sp.csr_array(blob))


@pytest.mark.parametrize("Machine", MACHINES)
def test_wrong_weights(Machine, blob):
    with pytest.raises(ValueError, match="one number per row"):
        Machine().fit(blob, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="NaN"):
        Machine().fit(blob, sample_weight=np.full(len(blob), np.nan))
    with pytest.raises(ValueError, match="zero or negative"):
        Machine().fit(blob, sample_weight=-np.ones(len(blob)))
    # One number is the same weight for all.
    machine = Machine().fit(blob, sample_weight=1.0)
    np.testing.assert_array_equal(machine.support_, Machine().fit(blob).support_)


@pytest.mark.parametrize("Machine", MACHINES)
def test_wrong_kernel_functions(Machine, blob):
    with pytest.raises(ValueError, match="must return shape"):
        Machine(kernel=lambda X, Z: np.ones((1, 1))).fit(blob)
    with pytest.raises(ValueError, match=r"(?i)nan|finite"):
        Machine(kernel=lambda X, Z: np.full((len(X), len(Z)), np.nan)).fit(blob)


@pytest.mark.parametrize("Machine", MACHINES)
@pytest.mark.parametrize("kernel", ["linear", "poly"])
@pytest.mark.parametrize("size", [1e30, 1e60, 1e100, 1e200])
def test_huge_numbers_end_in_an_answer_or_a_sentence(Machine, kernel, size, blob):
    slack = {} if Machine is OneClassSVM else {"slack": "linear", "nu": 0.1}
    machine = Machine(kernel=kernel, gamma=1.0, **slack)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            machine.fit(blob * size)
        except ValueError as error:
            assert "scale" in str(error)
        else:
            assert np.isfinite(machine.decision_function(blob * size)).all()
