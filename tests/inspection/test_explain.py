"""Contributions of columns against Shapley values by definition: all subsets of the columns."""

from itertools import product
from math import factorial

import matplotlib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, PUEnsemble
from fewlabels.inspection import explain
from fewlabels.inspection.shapley import values as _shapley

matplotlib.use("Agg")


def by_definition(function, row, background, player):
    """The average of a player's change over all subsets of the others, O(2^players)."""
    n = player.max() + 1
    worth = {}
    for subset in product([False, True], repeat=n):
        mixed = np.where(np.array(subset)[player], row, background)
        worth[subset] = function(mixed).mean()
    values = np.zeros(n)
    for subset, value in worth.items():
        size = sum(subset)
        for i in range(n):
            if not subset[i]:
                joined = (*subset[:i], True, *subset[i + 1 :])
                share = factorial(size) * factorial(n - size - 1) / factorial(n)
                values[i] += share * (worth[joined] - value)
    return values


@pytest.fixture
def rows(rng):
    return rng.normal(size=(80, 5)) * np.array([2.0, 1.0, 1.0, 0.5, 1.0])


def fitted(name, rows, rng, **settings):
    if name == "SVDD":
        return SVDD(**settings).fit(rows)
    if name == "OneClassSVM":
        return OneClassSVM(nu=0.2, target_fpr=0.1, **settings).fit(rows)
    n, first = rows.shape[0], rows[:, [0]]
    first = (first.toarray() if sp.issparse(first) else first)[:, 0]
    pu = np.where(np.arange(n) < 25, 1, 0)
    if name == "PUSVM":
        return PUSVM(prior=0.4, **settings).fit(rows, pu)
    if name == "PUEnsemble":
        return PUEnsemble(prior=0.4, n_bags=3, **settings).fit(rows, pu)
    semi = np.where(np.arange(n) < 20, first > 0, -1).astype(int)
    return S3VM(**settings).fit(rows, semi)


MACHINES = ["SVDD", "OneClassSVM", "PUSVM", "PUEnsemble", "S3VM"]


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("name", MACHINES)
def test_exact_kernels_give_the_defined_values(name, kernel, rows, rng):
    machine = fitted(name, rows, rng, kernel=kernel)
    background = rows[40:52]
    told = explain(machine, rows[:3], background=background)
    assert told.method == "exact"
    assert not told.standard_errors.any()
    expected = [
        by_definition(machine.decision_function, x, background, np.arange(5)) for x in rows[:3]
    ]
    size = 1.0 + np.abs(machine.decision_function(rows)).max()
    np.testing.assert_allclose(told.contributions, expected, atol=2e-6 * size)


def test_a_single_column_has_all_of_the_credit(rows):
    model = SVDD().fit(rows[:, :1])
    told = explain(model, rows[:5, :1], background=rows[:30, :1])
    decision = model.decision_function(rows[:, :1])
    np.testing.assert_allclose(told.decision, decision[:5])
    np.testing.assert_allclose(told.base, decision[:30].mean())
    np.testing.assert_allclose(told.contributions[:, 0], decision[:5] - decision[:30].mean())
    assert told.method == "exact"


@pytest.mark.parametrize("name", ["SVDD", "PUEnsemble"])
def test_groups_count_as_one(name, rows, rng):
    machine = fitted(name, rows, rng)
    background = rows[40:52]
    told = explain(machine, rows[:2], background=background, groups={"both": [1, "x3"]})
    assert told.columns == ["x0", "both", "x2", "x4"]
    player = np.array([0, 1, 2, 1, 3])
    expected = [by_definition(machine.decision_function, x, background, player) for x in rows[:2]]
    np.testing.assert_allclose(told.contributions, expected, atol=1e-9)
    assert told.usual[1] is None
    assert "x1" in told.values["both"][0] and "x3" in told.values["both"][0]


@given(seed=st.integers(0, 10**6), n_columns=st.integers(1, 6), log_gamma=st.floats(-3, 3))
def test_axioms(seed, n_columns, log_gamma):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(7, n_columns + 2))
    vectors[:, -2] = vectors[:, 0]  # the same as the first column
    term = _shapley.Gaussians(float(np.exp(log_gamma)), vectors, rng.normal(size=7))
    row, background = rng.normal(size=(1, n_columns + 2)), rng.normal(size=(4, n_columns + 2))
    row[:, -2], background[:, -2] = row[:, 0], background[:, 0]
    background[:, -1] = row[0, -1]  # nothing changes there
    group = np.arange(n_columns + 2)
    values = _shapley.exact_values([term], row, background, group, len(group))[0]

    def f(X):
        away = np.square(X[:, None, :] - vectors).sum(axis=2)
        return np.exp(-term.gamma * away) @ term.coef

    scale = np.abs(term.coef).sum()
    assert values.sum() == pytest.approx(f(row)[0] - f(background).mean(), abs=1e-10 * scale)
    assert values[-2] == pytest.approx(values[0], abs=1e-12 * scale)  # symmetry
    assert values[-1] == 0.0  # dummy


@pytest.mark.parametrize("gamma", [0.002, 0.05, 1.0])
def test_many_columns_match_another_way_to_compute_the_values(gamma, rng):
    # The exact number of nodes, against the rule that stops when nothing changes any more.
    n_columns = 60
    vectors, coef = rng.normal(size=(9, n_columns)), rng.normal(size=9)
    row, background = rng.normal(size=(1, n_columns)), rng.normal(size=(3, n_columns))
    group = np.arange(n_columns)
    term = _shapley.Gaussians(gamma, vectors, coef)
    values = _shapley.exact_values([term], row, background, group, n_columns)[0]
    nodes, weights = np.polynomial.legendre.leggauss(n_columns // 2)
    expected = np.zeros(n_columns)
    for b in background:
        p, q = (np.exp(-gamma * np.square(x - vectors)) for x in (row[0], b))
        for t, w in zip((nodes + 1) / 2, weights / 2, strict=True):
            factors = q + t * (p - q)
            for i in range(n_columns):
                others = np.delete(factors, i, axis=1).prod(axis=1)
                expected[i] += w * coef @ ((p - q)[:, i] * others) / len(background)
    np.testing.assert_allclose(values, expected, atol=1e-10 * np.abs(coef).sum())


def test_linear_kernel_has_a_closed_form(rows, rng):
    machine = fitted("PUSVM", rows, rng, kernel="linear")
    told = explain(machine, rows[:4], background=rows[20:])
    expected = machine.coef_[0] * (rows[:4] - rows[20:].mean(axis=0))
    np.testing.assert_allclose(told.contributions, expected, atol=1e-12)


@pytest.mark.parametrize("name", ["SVDD", "PUSVM", "S3VM"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_sparse_rows_are_explained_like_dense_ones(name, kernel, rows, rng):
    rows = np.where(rng.random(rows.shape) < 0.4, rows, 0.0)
    rows[:, 3] = np.where(np.arange(len(rows)) > 60, rows[:, 3], 0.0)  # not among those compared
    machine = fitted(name, rows, rng, kernel=kernel, gamma=0.3)
    sparse = fitted(name, sp.csr_array(rows), rng, kernel=kernel, gamma=0.3)
    dense = explain(machine, rows[:3], background=rows[20:40])
    told = explain(sparse, sp.csr_array(rows[:3]), background=sp.csr_array(rows[20:40]))
    assert told.method == "exact"
    np.testing.assert_allclose(told.contributions, dense.contributions, atol=2e-4)


def test_large_backgrounds_are_taken_piece_by_piece(rows, rng, monkeypatch):
    machine = SVDD(C=0.05).fit(rows)
    whole = explain(machine, rows[:3], background=rows)
    monkeypatch.setattr(_shapley, "_NUMBERS", 600)  # 7 background rows, 16 support vectors
    pieces = explain(machine, rows[:3], background=rows)
    assert len(machine.support_) > 16
    np.testing.assert_allclose(pieces.contributions, whole.contributions, rtol=1e-10, atol=1e-13)


def test_sampling_agrees_within_its_errors_and_adds_up(rows, rng):
    machine = fitted("PUSVM", rows, rng, kernel="poly")
    background = rows[40:50]
    told = explain(machine, rows[:2], background=background, n_samples=400)
    assert told.method == "permutations"
    expected = np.array(
        [by_definition(machine.decision_function, x, background, np.arange(5)) for x in rows[:2]]
    )
    away = np.abs(told.contributions - expected)
    assert (away <= 4.5 * told.standard_errors + 1e-9).all()
    assert (told.standard_errors < 0.1 * np.abs(expected).max()).all()
    total = told.decision - told.base
    np.testing.assert_allclose(told.contributions.sum(axis=1), total, rtol=1e-9)
    fewer = explain(machine, rows[:2], background=background, n_samples=100)
    assert fewer.standard_errors.mean() > 1.5 * told.standard_errors.mean()


def test_any_function_can_be_explained(rows, rng):
    def kernel(X, Z):
        return np.exp(-0.2 * np.square(X[:, None, :] - Z[None, :, :]).sum(axis=2))

    machine = SVDD(kernel=kernel).fit(rows)
    same = SVDD(gamma=0.2).fit(rows)
    told = explain(machine, rows[:1], background=rows[30:40], n_samples=400)
    exact = explain(same, rows[:1], background=rows[30:40])
    away = np.abs(told.contributions - exact.contributions)
    assert told.method == "permutations"
    assert (away <= 4.5 * told.standard_errors + 1e-4).all()
    other = LogisticRegression().fit(rows, rows[:, 0] > 0)
    told = explain(other, rows[:2], background=rows[10:20])
    expected = other.coef_[0] * (rows[:2] - rows[10:20].mean(axis=0))
    np.testing.assert_allclose(told.contributions, expected, atol=1e-9)


# -- pipelines ----------------------------------------------------------------------------------


@pytest.fixture
def table(rng):
    n = 120
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "amount": rng.lognormal(3, 1, n),
            "country": rng.choice(list("ABC"), n),
            "flag": rng.choice(["y", "n"], n),
        }
    )
    frame.loc[:9, "amount"] = np.nan
    return frame


def encoder():
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    return ColumnTransformer(
        [
            ("numbers", numbers, ["age", "amount"]),
            ("categories", OneHotEncoder(handle_unknown="ignore"), ["country", "flag"]),
            ("missing", MissingIndicator(features="all"), ["amount"]),
        ]
    )


def frame_by_definition(model, row, background):
    """The defined values of a pipeline, columns of a table exchanged one by one."""
    names = list(row.columns)
    places = np.arange(len(names))

    def function(mixed):
        parts = [
            pd.concat([row, background], ignore_index=True)[name]
            .take(whose)
            .reset_index(drop=True)
            for name, whose in zip(names, mixed.T, strict=True)
        ]
        return model.decision_function(pd.concat(parts, axis=1))

    n = len(background)
    own = np.zeros(len(names), dtype=int)
    others = np.repeat(np.arange(1, n + 1)[:, None], len(names), axis=1)
    return by_definition(function, own, others, places)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_pipelines_are_explained_by_their_input_columns(table, kernel):
    model = Pipeline([("columns", encoder()), ("model", SVDD(kernel=kernel))]).fit(table)
    odd = table.iloc[[20, 3]].copy()
    odd.loc[20, "age"] = 95.0
    odd.loc[3, "country"] = "Z"  # never seen, and the amount is missing
    background = table.iloc[30:42]
    told = explain(model, odd, background=background)
    assert told.method == "exact"
    assert told.columns == list(table.columns)
    for k in range(2):
        expected = frame_by_definition(model, odd.iloc[[k]], background)
        np.testing.assert_allclose(told.contributions[k], expected, atol=1e-9)
    assert told.frame(0)["column"][0] == "age"
    assert told.contributions[0, 0] < 0  # towards outside


def test_encoders_that_mix_columns_are_sampled(table):
    numbers = table[["age", "amount"]].iloc[10:]
    model = make_pipeline(StandardScaler(), PCA(2), SVDD()).fit(numbers)
    background = numbers.iloc[30:42]
    told = explain(model, numbers[:2], background=background, n_samples=200)
    assert told.method == "permutations"
    expected = frame_by_definition(model, numbers.iloc[[0]], background)
    away = np.abs(told.contributions[0] - expected)
    assert (away <= 4.5 * told.standard_errors[0] + 1e-9).all()


def test_tables_with_categories_are_sampled_too(table):
    model = Pipeline([("columns", encoder()), ("model", OneClassSVM(kernel="poly"))]).fit(table)
    background = table.iloc[30:42]
    told = explain(model, table[:1], background=background, n_samples=200)
    expected = frame_by_definition(model, table.iloc[[0]], background)
    away = np.abs(told.contributions[0] - expected)
    assert (away <= 4.5 * told.standard_errors[0] + 1e-9).all()


def test_arrays_with_missing_numbers_and_nested_pipelines(rows, rng):
    rows[::7, 1] = np.nan
    inner = make_pipeline(StandardScaler(), SVDD())
    model = make_pipeline(SimpleImputer(), inner).fit(rows)
    told = explain(model, rows[:3], background=rows[20:40])
    assert told.method == "exact"
    np.testing.assert_allclose(
        told.contributions.sum(axis=1), told.decision - told.base, atol=1e-9
    )


def test_searches_are_opened(rows):
    y = np.where(rows[:, 0] > 0, 1, 0)
    search = GridSearchCV(S3VM(), {"C": [1.0, 10.0]}, cv=2).fit(rows, y)
    told = explain(search, rows[:2], background=rows[10:20])
    same = explain(search.best_estimator_, rows[:2], background=rows[10:20])
    np.testing.assert_array_equal(told.contributions, same.contributions)


# -- background, names, results -----------------------------------------------------------------


@pytest.mark.parametrize("name", ["SVDD", "OneClassSVM", "PUSVM", "S3VM"])
def test_the_default_background_is_held_by_the_machine(name, rows, rng):
    machine = fitted(name, rows, rng)
    told = explain(machine, rows[:2])
    assert told.n_background == 50
    np.testing.assert_array_equal(told.contributions, explain(machine, rows[:2]).contributions)
    other = explain(machine, rows[:2], random_state=1)
    assert not np.array_equal(told.contributions, other.contributions)
    if name != "S3VM":
        machine.release_rows()
        with pytest.raises(ValueError, match="doesn't store its training rows; pass background="):
            explain(machine, rows[:2])


def test_rows_of_weight_zero_are_no_background(rows):
    weight = np.r_[np.ones(30), np.zeros(50)]
    machine = SVDD().fit(rows, sample_weight=weight)
    assert explain(machine, rows[:1]).n_background == 30
    machine.partial_fit(rows[:5] + 0.1)
    assert explain(machine, rows[:1]).n_background == 35


def test_the_frame_and_the_reasons(rows, rng):
    machine = SVDD().fit(rows)
    odd = np.zeros((1, 5))
    odd[0, 2] = 6.0
    told = explain(machine, odd, columns=list("abcde"))
    frame = told.frame()
    assert list(frame.columns) == [
        "column", "value", "usual", "contribution", "standard_error",
    ]  # fmt: skip
    assert frame["column"][0] == "c" and frame["value"][0] == 6.0
    assert np.all(np.diff(np.abs(frame["contribution"])) <= 0)
    reasons = told.reasons(0, n=2)
    assert reasons[0].startswith("c = 6 (median ") and len(reasons) <= 2
    pushing = frame[frame["contribution"] < 0]["column"].tolist()
    assert all(reason.split(" = ")[0] in pushing for reason in reasons)
    assert told.frame(-1).equals(frame)
    with pytest.raises(ValueError, match="row=1 is not among the 1 rows"):
        told.frame(1)
    assert "1 row by 5 columns (exact" in repr(told)


def test_the_picture(rows):
    machine = SVDD().fit(rows)
    told = explain(machine, rows[:1])
    ax = told.plot(n=3)
    assert len(ax.patches) == 4
    assert [label.get_text() for label in ax.get_yticklabels()][-1] == "2 others"
    lengths = sorted(patch.get_width() for patch in ax.patches)
    assert sum(lengths) == pytest.approx(told.decision[0] - told.base)


def test_bad_input(rows, rng):
    machine = SVDD().fit(rows)
    for arguments, words in [
        ({"n_samples": 1}, "n_samples=1 is not allowed"),
        ({"background": rows[:, :3]}, "X has 5 columns and background 3"),
        ({"background": pd.DataFrame(rows)}, "both be tables"),
        ({"columns": ["a"]}, "columns has 1 names"),
        ({"columns": ["a", "a", "b", "c", "d"]}, "4 of them different"),
        ({"groups": {"g": ["zz"]}}, "groups names the column 'zz'"),
        ({"groups": {"g": [0, 1], "h": [1]}}, "is in two groups"),
        ({"groups": {"x4": [0, 1]}}, "a group has the name of a column"),
    ]:
        with pytest.raises(ValueError, match=words):
            explain(machine, rows[:2], **arguments)
    with pytest.raises(ValueError, match="decision_function"):
        explain(StandardScaler().fit(rows), rows)
    precomputed = SVDD(kernel="precomputed").fit(rows @ rows.T)
    with pytest.raises(ValueError, match="precomputed"):
        explain(precomputed, rows @ rows.T)
    model = make_pipeline(StandardScaler(), SVDD()).fit(rows)
    with pytest.raises(ValueError, match="in the model are encoded; pass background="):
        explain(model, rows[:2])
    frame = pd.DataFrame(rows, columns=list("abcde"))
    named = make_pipeline(StandardScaler(), SVDD()).fit(frame)
    with pytest.raises(ValueError, match="background lacks the column 'a'"):
        explain(named, frame[:2], background=frame[["b", "c"]])
