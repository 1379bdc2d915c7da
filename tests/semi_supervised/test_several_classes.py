"""S3VM of several classes: a machine for each against the rest, over the same rows."""

import copy
import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.reference.s3vm_streams import judge

from fewlabels import S3VM
from fewlabels.model_selection import LabeledKFold
from fewlabels.semi_supervised.stream import S3VMStream

NAMES = np.array(["ant", "bee", "cat", "dog"], dtype=object)


def clusters(rng, n=90, labels=4, k=3, apart=2.0):
    """Rows of k clusters, the first of each labelled, None for the others."""
    truth = np.arange(n) % k
    angle = 2 * np.pi * truth / k
    X = rng.normal(size=(n, 3))
    X[:, :2] += apart * np.column_stack([np.cos(angle), np.sin(angle)])
    y = np.full(n, None, dtype=object)
    y[: labels * k] = NAMES[truth[: labels * k]]
    return X, y, NAMES[truth]


def against(y, name):
    """1 for a class, 0 for the rest, NaN for none."""
    return np.array([np.nan if pd.isna(value) else float(value == name) for value in y])


def priced(n_classes):
    """What a row without a label costs the machine of one of so many classes: 5 of two."""
    return 10.0 / n_classes


def spread(model, n):
    """Coefficients of all rows, and constants."""
    coef = np.zeros((len(model.dual_coef_), n))
    coef[:, model.support_] = model.dual_coef_
    return np.column_stack([coef, model.intercept_])


def agrees(model, X, y, parameters):
    """The machine of each class is that of two classes, the class and the rest."""
    f, found = model.decision_function(X), spread(model, len(X))
    parameters = {**parameters, "C_star": priced(len(model.classes_))}
    assert f.shape == (len(X), len(model.classes_))
    for place, name in enumerate(model.classes_):
        twin = S3VM(**parameters).fit(X, against(y, name))
        np.testing.assert_allclose(found[place], spread(twin, len(X))[0], rtol=0, atol=1e-9)
        # Kernel values are float32 after a fit.
        np.testing.assert_allclose(f[:, place], twin.decision_function(X), atol=1e-5)
        assert model.objective_[place] == pytest.approx(twin.objective_, rel=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "callable"])
def test_each_class_is_a_machine_against_the_rest(rng, kernel):
    X, y, truth = clusters(rng)
    kernel = (lambda A, B: rbf_kernel(A, B, 0.3)) if kernel == "callable" else kernel
    parameters = {"kernel": kernel, "gamma": 0.3, "tol": 1e-9}
    model = S3VM(**parameters).fit(X, y)
    agrees(model, X, y, parameters)
    assert model.classes_.tolist() == ["ant", "bee", "cat"]
    assert np.mean(model.predict(X) == truth) > 0.75
    f = model.decision_function(X)
    assert np.array_equal(model.predict(X), model.classes_[f.argmax(axis=1)])
    labelled = ~pd.isna(y)
    assert np.array_equal(model.transduction_[labelled], y[labelled])
    assert np.mean(model.transduction_ == np.where(labelled, y, model.predict(X))) > 0.95
    assert model.intercept_.shape == model.objective_.shape == model.kkt_violation_.shape == (3,)
    assert model.dual_coef_.shape == (3, len(model.support_)) and model.fit_status_ == 0
    assert model.n_support_.shape == (3,) and len(model.objectives_) == 3
    assert {entry["class"] for entry in model.history_} == {0, 1, 2}
    # What attributes say is what decisions are made of.
    K = {"rbf": lambda A, B: rbf_kernel(A, B, 0.3), "linear": lambda A, B: A @ B.T,
         "poly": lambda A, B: (0.3 * A @ B.T + 1.0) ** 3}.get(kernel, kernel)  # fmt: skip
    made = K(X, model.support_vectors_) @ model.dual_coef_.T + model.intercept_
    np.testing.assert_allclose(f, made, atol=1e-5)
    if kernel == "linear":
        assert model.coef_.shape == (3, 3)
        np.testing.assert_allclose(f, X @ model.coef_.T + model.intercept_, atol=1e-9)


def test_a_kernel_matrix_and_weights(rng):
    X, y, _ = clusters(rng)
    parameters = {"gamma": 0.3, "tol": 1e-9}
    expected = S3VM(**parameters).fit(X, y)
    K = rbf_kernel(X, X, 0.3)
    model = S3VM(kernel="precomputed", tol=1e-9).fit(K, y)
    np.testing.assert_allclose(
        model.decision_function(K), expected.decision_function(X), rtol=0, atol=1e-5
    )
    # A row of weight 0 is no row.
    weight = np.ones(len(X))
    weight[[0, 50]] = 0.0
    part = S3VM(**parameters).fit(X, y, sample_weight=weight)
    fewer = S3VM(**parameters).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_allclose(
        part.decision_function(X), fewer.decision_function(X), rtol=0, atol=1e-9
    )
    assert len(part.transduction_) == len(X)
    weight[:] = 1.0
    weight[(y == "bee").astype(bool)] = 0.0
    with pytest.raises(ValueError, match="leaves no label of the class bee"):
        S3VM().fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("storage", ["sparse", "float32", "frame"])
def test_storage_does_not_matter(rng, storage):
    X, y, _ = clusters(rng)
    X = np.round(X, 1)
    convert = {
        "sparse": sp.csr_array,
        "float32": lambda rows: rows.astype(np.float32),
        "frame": lambda rows: pd.DataFrame(rows, columns=list("abc")),
    }[storage]
    expected = S3VM(gamma=0.3, tol=1e-9).fit(X[:80], y[:80]).partial_fit(X[80:], y[80:])
    model = S3VM(gamma=0.3, tol=1e-9).fit(convert(X[:80]), y[:80])
    model.partial_fit(convert(X[80:]), y[80:]).forget([30])
    expected.forget([30])
    np.testing.assert_allclose(
        model.decision_function(convert(X)), expected.decision_function(X), atol=1e-5
    )


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("balance", [True, False])
@pytest.mark.parametrize("update", ["keep", "paper"])
def test_a_stream_follows_every_machine_exactly(rng, kernel, balance, update):
    X, y, _ = clusters(rng, n=80, labels=5)
    if balance is False and update == "paper":
        pytest.skip("there is no virtual row")
    parameters = {
        "kernel": kernel, "gamma": 0.3, "balance": balance, "balance_update": update,
    }  # fmt: skip
    model = S3VM(**parameters).fit(X[:60], y[:60])
    one = S3VM(**parameters, C_star=priced(3))
    twins = {name: clone(one).fit(X[:60], against(y[:60], name)) for name in NAMES[:3]}
    rows, label = list(range(60)), y[:60].copy()
    for start in range(60, 80, 4):
        new = np.arange(start, start + 4)
        given = np.where(new % 4 == 0, NAMES[new % 3], None)
        out = [int(rng.integers(20, len(rows))), int(rng.integers(10))]
        told = int(rng.integers(16, 20))
        model.partial_fit(X[new], given).forget(out).relabel([told], "bee")
        for name, twin in twins.items():
            twin.partial_fit(X[new], against(given, name)).forget(out)
            twin.relabel([told], float(name == "bee"))
        label = np.delete(np.concatenate([label, given]), out)
        rows = np.delete(np.concatenate([rows, new]), out)
        label[told] = "bee"
    f = model.decision_function(X)
    for place, (name, twin) in enumerate(twins.items()):
        np.testing.assert_allclose(f[:, place], twin.decision_function(X), rtol=0, atol=1e-9)
        assert model.kkt_violation_[place] < 1e-9
        judged = ("rbf", 0.3) if kernel == "rbf" else ("linear",)
        by_definition = against(label, name)
        judge(twin, X[rows], by_definition, judged, balance, prices=(10.0, priced(3)))
    assert np.array_equal(model.training_rows_.X, X[rows])
    numbers = model.training_rows_.label
    assert np.array_equal(numbers > 0, ~pd.isna(label))
    assert np.array_equal(model.classes_[numbers[numbers > 0] - 1], label[numbers > 0])


def test_a_stream_may_begin_before_there_are_labels(rng):
    X, y, truth = clusters(rng)
    model = S3VM(gamma=0.3).partial_fit(X[:30], classes=NAMES[:3])
    assert np.array_equal(model.decision_function(X[:2]), np.zeros((2, 3)))
    model.relabel([0, 3], truth[[0, 3]])  # two ants
    assert np.array_equal(model.decision_function(X[:2]), [[1, -1, -1]] * 2)
    model.relabel([1], "bee")
    f = model.decision_function(X)
    assert np.ptp(f[:, 0]) > 0 and np.ptp(f[:, 1]) > 0 and np.all(f[:, 2] == -1)
    model.relabel([2], "cat").partial_fit(X[30:], y[30:])
    assert np.all(np.ptp(model.decision_function(X), axis=0) > 0)
    assert np.all(model.kkt_violation_ < 1e-9) and np.mean(model.predict(X) == truth) > 0.5


@pytest.mark.parametrize("before", [2, 3])
def test_a_class_arrives_in_the_middle_of_a_stream(rng, before):
    k = before + 1
    X, y, truth = clusters(rng, k=k, n=24 * k, labels=5, apart=3.0)
    # The class that comes is not the last in order.
    new = "bee"
    known = [name for name in NAMES[:k] if name != new]
    rows = np.flatnonzero(truth != new)
    late = np.flatnonzero(truth == new)
    model = S3VM(gamma=0.3).fit(X[rows], y[rows])
    version = model.decision_function(X[:3])
    assert (version.ndim == 1) == (before == 2)
    with pytest.raises(ValueError, match="neither a class"):
        model.partial_fit(X[late], y[late])
    model.partial_fit(X[late], y[late], classes=NAMES[:k])
    assert model.classes_.tolist() == list(NAMES[:k])
    everything = np.concatenate([rows, late])
    # Machines of known classes have gone on from where they were, ...
    f = model.decision_function(X)
    for name in known:
        twin = S3VM(gamma=0.3, C_star=priced(before)).fit(X[rows], against(y[rows], name))
        twin.reprice(C_star=priced(k)).partial_fit(X[late], against(y[late], name))
        column = model.classes_.tolist().index(name)
        np.testing.assert_allclose(f[:, column], twin.decision_function(X), rtol=0, atol=1e-9)
    # ... that of the new one was trained on all rows.
    fresh = S3VM(gamma=0.3, tol=1e-9, C_star=priced(k))
    fresh.fit(X[everything], against(y[everything], new))
    np.testing.assert_allclose(f[:, 1], fresh.decision_function(X), rtol=0, atol=1e-5)
    assert np.all(model.kkt_violation_ < 1e-9) and np.mean(model.predict(X) == truth) > 0.8
    assert len(model.objectives_) == k and len(model.objectives_[1]) > 0
    model.forget([3]).partial_fit(X[:3]).consolidate()
    assert np.all(model.kkt_violation_ < 1e-9)


@pytest.mark.parametrize("before", [2, 3])
def test_a_class_arrives_on_a_path_from_scratch(rng, before):
    # solver="path" has no objectives of batch training, for any class.
    k = before + 1
    X, y, truth = clusters(rng, k=k, n=24 * k, labels=5, apart=3.0)
    rows, late = np.flatnonzero(truth != "bee"), np.flatnonzero(truth == "bee")
    model = S3VM(gamma=0.3, solver="path").fit(X[rows], y[rows])
    assert model.objectives_ == ([] if before == 2 else [[], [], []])
    with pytest.raises(ValueError, match="1 labels for 2 rows"):
        model.partial_fit(X[late[:2]], ["bee"], classes=NAMES[:k])
    model.partial_fit(X[late], y[late], classes=NAMES[:k])
    assert model.objectives_ == [[]] * k and model.classes_.tolist() == list(NAMES[:k])
    assert np.all(model.kkt_violation_ < 1e-9) and np.mean(model.predict(X) == truth) > 0.8
    model.consolidate()
    assert np.mean(model.predict(X) == truth) > 0.8


def test_a_new_class_by_relabelling_and_what_is_refused(rng):
    X, y, _ = clusters(rng)
    model = S3VM(gamma=0.3).fit(X[1:], y[1:])
    X, y = np.concatenate([X[1:], X[:1]]), np.concatenate([y[1:], y[:1]])
    model.partial_fit(X[-1:], y[-1:])
    f = model.decision_function(X)
    refused = [
        (
            lambda: model.relabel([30], "dog"),
            r"y holds 'dog', neither a class .* or classes=\['ant', 'bee', 'cat', 'dog'\] to add",
        ),
        (
            lambda: model.relabel([30], "dog", classes=["dog", "ant"]),
            "differ from the classes of the first",
        ),
        (lambda: model.partial_fit(X[:2], ["dog"], classes=NAMES), "1 labels for 2 rows"),
        (lambda: model.relabel([2, 5, 8, 89], None), "no labelled row of the class ant"),
        (lambda: model.forget([0, 3, 6, 9]), "no labelled row of the class bee"),
        (lambda: model.forget(range(90)), "at least one"),
        (lambda: S3VM(balance=0.2).fit(X, y), "each has its own"),
        (lambda: S3VM(balance={"ant": 0.5, "bee": 0.5}).fit(X, y), "it lacks cat"),
        (lambda: S3VM(balance=dict.fromkeys(NAMES[:3], 0.5)).fit(X, y), "sum to 1"),
        (lambda: S3VM(balance=dict.fromkeys(NAMES, 0.25)).fit(X, y), "of no other"),
    ]
    for attempt, message in refused:
        with pytest.raises(ValueError, match=message):
            attempt()
        assert len(model.classes_) == 3 and np.array_equal(model.decision_function(X), f)
    model.relabel([30], "dog", classes=NAMES)
    assert model.classes_.tolist() == list(NAMES) and model.transduction_[30] == "dog"
    # The class stays when its label moves on to another row.
    model.relabel([31, 30], ["dog", None])
    assert model.transduction_[31] == "dog"


def test_shares_of_classes(rng):
    X, y, truth = clusters(rng, n=120)
    chosen = np.flatnonzero((truth != "ant") | (np.arange(120) < 40))
    X, y = X[chosen], y[chosen]
    shares = {"ant": 0.2, "bee": 0.35, "cat": 0.45}
    model = S3VM(gamma=0.3, balance=shares, tol=1e-9, probability="sigmoid").fit(X, y)
    free = pd.isna(y)
    means = model.decision_function(X[free]).mean(axis=0)
    np.testing.assert_allclose(means, 2 * np.array([0.2, 0.35, 0.45]) - 1, atol=1e-7)
    assert model.predict_proba(X[free]).mean(axis=0) == pytest.approx([0.2, 0.35, 0.45], abs=0.1)
    with pytest.raises(ValueError, match="has no share for a new class"):
        model.partial_fit(X[:1], ["dog"], classes=NAMES)
    # Of two classes they say what a number says.
    two = np.where(y == "ant", "ant", np.where(free, None, "not"))
    by_share = S3VM(balance={"ant": 0.2, "not": 0.8}).fit(X, two)
    by_mean = S3VM(balance=0.6).fit(X, two)
    np.testing.assert_allclose(by_share.decision_function(X), by_mean.decision_function(X))


@pytest.mark.parametrize("kind", ["sigmoid", "isotonic"])
def test_probabilities(rng, kind):
    X, y, _ = clusters(rng, n=300, labels=30, apart=1.5)
    model = S3VM(gamma=0.3, probability=kind).fit(X, y)
    p = model.predict_proba(X)
    assert p.shape == (300, 3) and np.all(p > 0)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    # Rows that are told with some probability are right about so often.
    off = []
    for _ in range(3):
        A, given, known = clusters(rng, n=300, labels=30, apart=1.5)
        chances, free = clone(model).fit(A, given).predict_proba(A), pd.isna(given)
        right = model.classes_[chances[free].argmax(axis=1)] == known[free]
        off.append(chances[free].max(axis=1).mean() - right.mean())
    assert abs(np.mean(off)) < 0.1
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p)
    # Far from all rows they still sum to 1.
    assert model.predict_proba(X + 1e3).sum(axis=1) == pytest.approx(1.0)
    twin = pickle.loads(pickle.dumps(model))
    assert twin.has_curve_ and np.array_equal(twin.predict_proba(X), p)
    model.partial_fit(X[:1], ["dog"], classes=NAMES)
    assert not model.has_curve_ and model.predict_proba(X).shape == (300, 4)


def test_a_curve_within_seconds_stands_on_fewer_labels(rng):
    X, y, _ = clusters(rng, labels=6)
    whole, short = S3VM(probability="sigmoid").fit(X, y), S3VM(probability="sigmoid").fit(X, y)
    assert whole.left_out_decisions_ is None
    curve, cut = whole.curve_within(3600.0)
    assert curve is whole.curve_ and cut == []
    curve, cut = short.curve_within(0.0)
    assert curve is short.curve_ and len(cut) == 1 and "1 of 5 models" in cut[0]
    told, all_told = (np.isfinite(m.left_out_decisions_).all(axis=1) for m in (short, whole))
    assert 0 < told.sum() < all_told.sum() == np.sum(~pd.isna(y))
    assert np.array_equal(short.left_out_decisions_[told], whole.left_out_decisions_[told])
    assert np.allclose(short.predict_proba(X).sum(axis=1), 1.0)
    assert pickle.loads(pickle.dumps(short)).predict_proba(X) == pytest.approx(
        short.predict_proba(X), abs=1e-12
    )


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_copies_go_on_by_themselves(rng, kernel):
    X, y, _ = clusters(rng)
    model = S3VM(gamma=0.3, kernel=kernel).fit(X[:80], y[:80])
    for steps in (0, 1):
        if steps:
            model.forget([20])
        f = model.decision_function(X)
        for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
            assert np.array_equal(twin.decision_function(X), f)
            assert np.array_equal(twin.transduction_, model.transduction_)
            twin.partial_fit(X[80:], y[80:])
            assert np.array_equal(model.decision_function(X), f)
            after = copy.deepcopy(model).partial_fit(X[80:], y[80:])
            np.testing.assert_allclose(
                twin.decision_function(X), after.decision_function(X), rtol=0, atol=1e-9
            )
    rows = len(pickle.dumps(model))
    model.release_rows()
    assert np.array_equal(model.decision_function(X), f) and len(pickle.dumps(model)) < rows
    with pytest.raises(ValueError, match="doesn't store its training rows"):
        model.partial_fit(X[:1])


def test_rows_are_held_once_and_those_gone_are_freed(rng):
    X, y, truth = clusters(rng, n=600)
    model = S3VM(gamma=0.3).fit(X[:60], y[:60])
    for i in range(60, 600, 20):
        model.partial_fit(X[i : i + 20]).forget(np.arange(12, 32))
    stream = model._stream
    assert isinstance(stream, S3VMStream) and len(stream) == 60
    assert stream.places.max() < 200
    for path in stream.paths:
        assert path.rows is stream.store
    assert np.all(model.kkt_violation_ < 1e-9) and np.mean(model.predict(X) == truth) > 0.8


def test_steps_in_pieces_prices_and_widening(rng):
    X, y, _ = clusters(rng)
    whole = S3VM(gamma=0.3).fit(X[:80], y[:80]).partial_fit(X[80:], y[80:])
    pieces = S3VM(gamma=0.3, max_steps=3).fit(X[:80], y[:80])
    with pytest.warns(ConvergenceWarning, match="max_steps=3"):
        pieces.partial_fit(X[80:], y[80:])
    assert not pieces.is_caught_up_
    pieces.decision_function(X)
    pieces.resume()
    assert pieces.is_caught_up_
    np.testing.assert_allclose(
        pieces.decision_function(X), whole.decision_function(X), rtol=0, atol=1e-9
    )
    whole.reprice(C_star=2.0)
    assert np.all(whole.kkt_violation_ < 1e-9) and whole.C_star == 2.0
    twin = S3VM(gamma=0.3, C_star=priced(3)).fit(X[:80], against(y[:80], "bee"))
    twin.partial_fit(X[80:], against(y[80:], "bee")).reprice(C_star=2.0 * 2 / 3)
    assert whole.objective_[1] == pytest.approx(twin.objective_, rel=1e-9)
    f = whole.decision_function(X)
    whole.widen(5)
    wider = np.pad(X, ((0, 0), (0, 2)))
    np.testing.assert_allclose(whole.decision_function(wider), f, rtol=0, atol=1e-9)
    whole.partial_fit(wider[:2] + 0.1)
    assert np.all(whole.kkt_violation_ < 1e-9)


def test_consolidation_finds_lower_minima_only(rng):
    X, y, _ = clusters(rng, n=150, apart=1.2)
    model = S3VM(gamma=0.3).fit(X[:40], y[:40])
    for i in range(40, 150, 10):
        model.partial_fit(X[i : i + 10])
    assert model.consolidation_due_
    before = model.objective_
    better = model.consolidate()
    assert np.all(model.objective_ <= before * (1 + 1e-9)) and not model.consolidation_due_
    assert better == bool(np.any(model.objective_ < before * (1 - 1e-9)))
    by_itself = S3VM(gamma=0.3, auto_consolidate=True).fit(X[:40], y[:40])
    by_itself.partial_fit(X[40:])
    assert not by_itself.consolidation_due_


@pytest.mark.parametrize("solver", ["path", "branch-and-bound"])
def test_other_solvers(rng, solver):
    X, y, truth = clusters(rng, n=24, labels=3)
    model = S3VM(gamma=0.3, solver=solver, tol=1e-9).fit(X, y)
    agrees(model, X, y, {"gamma": 0.3, "solver": solver, "tol": 1e-9})
    if solver == "branch-and-bound":
        assert model.optimality_gap_.shape == (3,) and np.all(model.optimality_gap_ == 0)
        assert model.n_nodes_ > 0
    model.partial_fit(X[:2] + 0.1)
    assert np.all(model.kkt_violation_ < 1e-7) and np.mean(model.predict(X) == truth) > 0.7


def test_limits_stop_the_whole_fit(rng):
    X, y, _ = clusters(rng, n=300, apart=0.5)
    seen = []
    with pytest.warns(ConvergenceWarning, match="callback"):
        S3VM().fit(X, y, callback=lambda entry: seen.append(entry) or len(seen) >= 3)
    assert len(seen) <= 5 and seen[0]["class"] == 0
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = S3VM(max_time=1e-9).fit(X, y)
    assert model.fit_status_ == 1 and np.all(np.isfinite(model.decision_function(X)))


def test_codings_of_y(rng):
    X, y, _ = clusters(rng)
    expected = S3VM().fit(X, y).decision_function(X)
    number = {None: -1, "ant": 0, "bee": 1, "cat": 2}
    codings = [
        np.array([number[value] for value in y]),
        np.array([np.nan if value is None else float(number[value]) for value in y]),
        pd.array([pd.NA if value is None else number[value] for value in y], dtype="Int64"),
        pd.Series(y).astype("category"),
    ]
    for given in codings:
        assert np.array_equal(S3VM().fit(X, given).decision_function(X), expected)
    with pytest.warns(UserWarning, match="only two values"):
        assert len(S3VM().fit(X, np.where(np.arange(90) % 2, 1, -1)).classes_) == 2


def test_in_cross_validation_and_without_unlabelled_rows(rng):
    X, y, truth = clusters(rng)
    code = np.array([-1 if v is None else list(NAMES).index(v) for v in y])
    scores = cross_val_score(S3VM(gamma=0.3), X, code, cv=LabeledKFold(4))
    assert scores.mean() > 0.7
    model = clone(S3VM(gamma=0.3)).fit(X, truth)
    assert model.score(X, truth) > 0.9


@parametrize_with_checks([S3VM(), S3VM(kernel="linear"), S3VM(balance=False, annealing=False)])
def test_scikit_learn_takes_it_for_a_classifier_of_any_classes(estimator, check):
    assert estimator.__sklearn_tags__().classifier_tags.multi_class
    check(estimator)


def test_a_new_class_is_added_as_the_message_says(rng):
    X, y = rng.normal(size=(30, 2)), np.where(np.arange(30) < 8, np.arange(30) % 2, -1)
    model = S3VM().fit(X, y)
    for update in (partial(model.partial_fit, X[:1]), partial(model.relabel, [20])):
        with pytest.raises(
            ValueError, match=r"y holds 2, .* or classes=\[0, 1, 2\] to add a class"
        ):
            update([2])
    model.partial_fit(X[:1], [2], classes=[0, 1, 2])
    model.relabel([20], [2])
    assert model.classes_.tolist() == [0, 1, 2] and model.transduction_[20] == 2
