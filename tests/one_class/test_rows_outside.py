"""A model of one class says when its own boundary flags many of its training rows."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from fewlabels import SVDD, OneClassSVM
from fewlabels.one_class.base import SHARE_OUTSIDE

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=(300, 3))
ROWS = {
    "normal": NORMAL,
    "sparse": sp.csr_array(np.where(NORMAL > 0.5, NORMAL, 0.0)),
    "truth values": (RNG.random((200, 6)) < 0.5).astype(float),
    "duplicates": np.concatenate([np.zeros((270, 3)), NORMAL[:30]]),
}
MODELS = [
    SVDD(),
    SVDD(C=0.1),
    SVDD(kernel="linear"),
    SVDD(kernel="poly"),
    SVDD(solver="lagrangian"),
    SVDD(slack="linear", nu=0.1),
    OneClassSVM(nu=0.1),
    OneClassSVM(),
]


def said_by(call):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = call()
    return found, [str(one.message) for one in said if one.category is UserWarning]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_share_is_that_of_predict(model, rows, weighted):
    X = ROWS[rows]
    if sp.issparse(X) and getattr(model, "solver", "") == "lagrangian":
        X = X.toarray()
    weight = np.arange(X.shape[0]) % 3 if weighted else None
    model.fit(X, sample_weight=weight)
    share, bound = model._cache.peek(SHARE_OUTSIDE, model._version)
    flags, said = said_by(lambda: model.predict(X) < 0)
    assert share == pytest.approx(np.average(flags, weights=weight), abs=0.01)
    assert bound == pytest.approx(0.0 if model.cost_name == "C" else model.nu)
    if share > 0.1 and not bound:
        (message,) = said
        assert f"flags {100 * share:.3g} % of its training rows" in message
        assert "target_fpr=0.05" in message
    else:
        assert not said


def test_it_is_said_once_per_fit_and_not_for_scores():
    model = SVDD().fit(NORMAL)
    _, said = said_by(lambda: [model.decision_function(NORMAL), model.score_samples(NORMAL)])
    assert not said
    copy = pickle.loads(pickle.dumps(model))
    _, said = said_by(lambda: [model.predict(NORMAL[:5]) for _ in range(3)])
    assert len(said) == 1
    assert len(said_by(lambda: copy.predict(NORMAL))[1]) == 1
    assert len(said_by(lambda: model.fit_predict(NORMAL))[1]) == 1
    assert not said_by(lambda: model.partial_fit(NORMAL[:2]).predict(NORMAL))[1]


def test_a_rate_that_was_asked_for_needs_no_warning():
    flags, said = said_by(lambda: SVDD(target_fpr=0.2).fit(NORMAL).predict(NORMAL) < 0)
    assert not said and flags.mean() < 0.25
    assert not said_by(lambda: OneClassSVM(nu=0.6).fit_predict(NORMAL))[1]


def test_a_bound_that_is_broken_is_named():
    # A tolerance this rough leaves rows of the boundary on either side of it.
    model = OneClassSVM(nu=0.05).fit(NORMAL)
    model._cache.store(SHARE_OUTSIDE, model._version, (0.2, 0.05))
    _, (message,) = said_by(lambda: model.predict(NORMAL))
    assert "flags 20 % of its training rows (nu allows 5 %)" in message


def test_confirmed_anomalies_do_not_count():
    X = np.concatenate([NORMAL, 6.0 + NORMAL[:40]])
    anomalies = np.arange(340) >= 300
    model = SVDD().fit(X, anomalies=anomalies)
    share, _ = model._cache.peek(SHARE_OUTSIDE, model._version)
    flags, _ = said_by(lambda: model.predict(NORMAL) < 0)
    assert share == pytest.approx(flags.mean(), abs=0.01)


def test_rows_of_a_file_count_too(tmp_path):
    np.save(tmp_path / "rows.npy", NORMAL)
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    model = SVDD(cache_size=0.005, tol=1e-4).fit(rows)
    assert not model.holds_rows_
    share, _ = model._cache.peek(SHARE_OUTSIDE, model._version)
    flags, said = said_by(lambda: model.predict(NORMAL) < 0)
    assert share == pytest.approx(flags.mean(), abs=0.01) and len(said) == 1
