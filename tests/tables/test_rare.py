"""Rare categories and flags of missing numbers do not make a row odd by themselves."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

from fewlabels import SVDD, TableEncoder, fit_table, tune
from fewlabels.tables.encoding.rare import RareCategories, RareColumns

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("sparse", [False, True])
def test_weights(sparse):
    X = np.zeros((200, 4))
    X[:2, 0] = X[:8, 1] = X[:20, 2] = X[:, 3] = 1.0
    step = RareColumns().fit(csr_array(X) if sparse else X)
    np.testing.assert_allclose(step.weight_, [np.sqrt(0.1), np.sqrt(0.4), 1.0, 1.0])
    found = step.transform(csr_array(X) if sparse else X)
    np.testing.assert_array_equal(found.toarray() if sparse else found, X * step.weight_)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_long_tail_is_near_the_most_frequent_category(sparse):
    # Two columns: one of five categories, three of them rare, and one with two rare ones.
    first, second = np.repeat(np.arange(5), [60, 32, 4, 3, 1]), np.repeat(np.arange(3), [90, 5, 5])
    X = np.hstack([np.eye(5)[first], np.eye(3)[np.random.default_rng(0).permutation(second)]])
    rows = csr_array(X) if sparse else X
    step = RareCategories().fit(rows)
    found = step.transform(rows)
    found = found.toarray() if sparse else found
    # Columns of what occurs twice, then one per column for what occurs once or never.
    assert found.shape == (100, 7 + 2)
    w = np.sqrt([0.4, 0.3, 0.1])
    np.testing.assert_allclose(found[first == 2, :4], [[1 - w[0], 0, w[0], 0]] * 4)
    np.testing.assert_allclose(found[first == 4][:, [0, 7]], [[1 - w[2], 1.0]])
    np.testing.assert_array_equal(found[first < 2, :2], X[first < 2, :2])
    np.testing.assert_allclose(found[:, 4:7], X[:, 5:] * np.minimum(1, np.sqrt([9, 0.5, 0.5])))
    # A category that was not seen is as one that occurs once, or as the rarest and farther away.
    new = step.transform(csr_array((1, 8)) if sparse else np.zeros((1, 8)))
    new = new.toarray() if sparse else new
    np.testing.assert_allclose(new[:, [0, 7]], found[first == 4][:, [0, 7]])
    np.testing.assert_allclose(new[0, 4:], [0, np.sqrt(0.5), 0, 1, np.sqrt(1.5)])


def _machine_table(n=600):
    """Rows of a machine; those in the last tenth run hot, and rare categories mean nothing."""
    odd = np.arange(n) >= n - n // 10
    load = RNG.normal(size=n)
    return pd.DataFrame(
        {
            "load": load.round(3),
            "heat": (load + 0.2 * RNG.normal(size=n) + 1.5 * odd).round(3),
            "oil": np.where(RNG.random(n) < 0.03, np.nan, RNG.normal(size=n).round(3)),
            "site": RNG.choice(["a", "b", *"cdefghij"], n, p=[0.55, 0.35] + [0.0125] * 8),
        }
    ), odd


def test_odd_rows_are_no_longer_those_of_rare_categories():
    table, odd = _machine_table()
    table = table.drop(columns="oil")
    train, test, truth = table[~odd][:300], table[300:], odd[300:]
    areas, shares, rare = [], [], ~test["site"].isin(["a", "b"]).to_numpy()
    for weigh in (False, True):
        model = make_pipeline(TableEncoder(weigh_rare=weigh), SVDD())
        scores = tune(model, train, time_budget=0.01).decision_function(test)
        areas.append(roc_auc_score(truth, -scores))
        oddest = np.argsort(scores)[:30]
        shares.append(float((rare[oddest] & ~truth[oddest]).mean()))
    assert shares[1] < shares[0] and areas[1] > areas[0] + 0.03


def test_flags_of_missing_numbers_cost_less():
    gains = []
    for _ in range(3):
        table, odd = _machine_table()
        table = table.drop(columns="site")
        areas = [
            roc_auc_score(
                odd[300:],
                -tune(make_pipeline(TableEncoder(weigh_rare=weigh), SVDD()), table[~odd][:300],
                      time_budget=0.01).decision_function(table[300:]),
            )
            for weigh in (False, True)
        ]  # fmt: skip
        gains.append(areas[1] - areas[0])
    assert np.mean(gains) > 0.005


def test_a_category_that_was_never_seen_counts():
    table, _ = _machine_table(200)
    found = fit_table(table, time_budget=1, baselines=False, report=False)
    assert isinstance(found.model[0].named_transformers_["categories"][-1], RareCategories)
    known = found.predict(table)["score"].to_numpy()
    unseen = found.predict(table.assign(site="zz"))["score"].to_numpy()
    assert (unseen < known).mean() > 0.8


def test_machines_with_labels_take_categories_as_they_are():
    table, odd = _machine_table(120)
    labels = np.where(odd, "odd", "")
    found = fit_table(table.assign(y=labels), "y", time_budget=0, report=False, prior=0.1)
    assert set(np.unique(found.model[0].transform(table)[:, 3:])) == {0.0, 1.0}
