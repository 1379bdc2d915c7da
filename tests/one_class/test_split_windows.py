"""A split keeps its share of the rows while rows come and go, and its rate."""

import pickle

import numpy as np
import pytest

from fewlabels import SVDD, OneClassSVM

MACHINES = {
    "squared": lambda **kw: SVDD(**{"C": 0.3, "gamma": 0.4, **kw}),
    "linear": lambda **kw: SVDD(**{"slack": "linear", "nu": 0.23, "gamma": 0.4, **kw}),
    "one-class": lambda **kw: OneClassSVM(**{"nu": 0.23, "gamma": 0.4, **kw}),
}
every_machine = pytest.mark.parametrize("make", MACHINES.values(), ids=MACHINES)


def held_out_of(model):
    """Rows that have no part in training, of rows that all have a weight."""
    return model.training_rows_.weight == 0


def values_of(model, X):
    """Scores on a scale that doesn't depend on the number of rows."""
    return model.score_samples(X) / model.dual_coef_.sum()


def split_off(model, share):
    """How many rows the split is away from a share, and whether rows and scores agree."""
    held = held_out_of(model)
    assert len(model.calibration_scores_) == held.sum() and not held.all()
    return abs(held.sum() - share * len(held))


@pytest.mark.filterwarnings("ignore:target_fpr=.* needs at least")
@every_machine
@pytest.mark.parametrize("n", [9, 60])
def test_a_split_keeps_its_share_in_sliding_windows(make, n, rng):
    model = make(target_fpr=0.2, calibration="split", random_state=int(n)).fit(
        rng.normal(size=(n, 2))
    )
    share = (n // 2) / n
    roles = []
    for _ in range(400):
        model.partial_fit(rng.normal(size=(1, 2)))
        assert split_off(model, share) <= 1.0
        roles.append(bool(held_out_of(model)[-1]))
        model.forget([0])
        assert split_off(model, share) <= 1.0
    assert model.shape_fit_ == (n, 2)
    # Which rows calibrate is drawn: no window repeats the one before.
    windows = np.reshape(roles[: len(roles) // n * n], (-1, n))
    repeated = len(windows) - len(np.unique(windows, axis=0))
    assert repeated <= (0 if n == 60 else 10)  # of nine rows, by chance


@every_machine
def test_a_split_keeps_its_share_whichever_rows_go(make, rng):
    X, weight = rng.normal(size=(60, 2)), rng.choice([0.5, 1.0, 2.0], 60)
    model = make(target_fpr=0.2, calibration="split").fit(X, sample_weight=weight)
    model.forget(np.flatnonzero(held_out_of(model))[:20])
    weight_there = model.training_rows_.weight
    assert len(weight_there) == 40 and split_off(model, 0.5) <= 1.0
    model.partial_fit(rng.normal(size=(25, 2)))
    assert split_off(model, 0.5) <= 1.0
    model = pickle.loads(pickle.dumps(model))
    model.forget(np.flatnonzero(~held_out_of(model)))  # all that were trained on
    assert split_off(model, 0.5) <= 1.0
    # It is the model of the rows that train now, with the weights they were given.
    rows = model.training_rows_
    train = rows.weight > 0
    other = make(tol=1e-8).fit(rows.X[train], sample_weight=rows.weight[train])
    np.testing.assert_allclose(values_of(model, X), values_of(other, X), atol=1e-3)
    with pytest.raises(ValueError, match="no training row would be left"):
        model.forget(np.arange(model.shape_fit_[0]))
    assert len(model.training_rows_.X) == len(train)


def test_rows_that_start_to_train_weigh_what_they_were_given(rng):
    X, weight = rng.normal(size=(20, 2)), np.linspace(1.0, 3.0, 20)
    model = SVDD(target_fpr=0.3, calibration="split").fit(X, sample_weight=weight)
    model = pickle.loads(pickle.dumps(model))
    left = np.flatnonzero(held_out_of(model))
    model.forget(np.setdiff1d(np.arange(20), left))
    rows = model.training_rows_
    own = weight[left]
    assert 4 <= np.sum(rows.weight > 0) <= 6
    np.testing.assert_array_equal(rows.weight[rows.weight > 0], own[rows.weight > 0])


def test_the_share_holds_for_100_000_operations():
    from fewlabels.calibration.left_out_scores import draw_among_new, draw_switching

    for n, share in ((60, 0.5), (61, 30 / 61), (40, 0.17), (7, 3 / 7)):
        rng = np.random.default_rng(n)
        marks = np.zeros(n, bool)
        marks[: round(share * n)] = True
        for step in range(12_500):
            new = draw_among_new(marks, share, 1 + step % 3, rng)
            marks = np.r_[marks, new]
            assert abs(marks.sum() - share * len(marks)) <= 1.0 + 1e-6
            marks = marks[1 + step % 3 :]
            switching = draw_switching(marks, share, rng)
            marks[switching] = ~marks[switching]
            assert abs(marks.sum() - share * len(marks)) <= 1.0 + 1e-6 and not marks.all()


def test_a_window_rejects_its_rate_of_fresh_rows():
    rejected, rounds = 0, 1200
    rng = np.random.default_rng(3)
    model = OneClassSVM(nu=0.2, target_fpr=0.1, calibration="split", n_jobs=1)
    model.fit(rng.normal(size=(60, 2)))
    for _ in range(rounds):
        x = rng.normal(size=(1, 2))
        rejected += int(model.predict(x)[0] < 0)
        model.partial_fit(x).forget([0])
    assert 0.06 < rejected / rounds < 0.14
