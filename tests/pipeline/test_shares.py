"""Shares that people know: of classes by name, and of positives among all rows."""

import numpy as np
import pandas as pd
import pytest

from fewlabels import fit_table
from fewlabels._util.messages import UserError
from fewlabels.class_prior import pooled_from_unlabeled
from fewlabels.pipeline.options.fit import FitOptions
from fewlabels.pipeline.options.flags import as_flags

OPTIONS = dict(time_budget=0, report=False)


@pytest.fixture(scope="module")
def tickets():
    rng = np.random.default_rng(0)
    truth = rng.choice(3, 400, p=[0.6, 0.3, 0.1])
    X = rng.normal(size=(400, 2)) + 2.5 * np.array([[0, 1], [1, 0], [-1, -1]])[truth]
    labels = np.full(400, "", dtype=object)
    names = np.array(["spare, parts", "refund", "login"], dtype=object)
    for k in range(3):  # as many of each class
        rows = np.flatnonzero(truth == k)[:8]
        labels[rows] = names[k]
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "queue": labels})


@pytest.fixture(scope="module")
def patients():
    rng = np.random.default_rng(0)
    sick = np.arange(300) < 90
    X = rng.normal(size=(300, 2)) + 2.0 * sick[:, None]
    return pd.DataFrame(
        {"a": X[:, 0], "b": X[:, 1], "sick": np.where(sick & (np.arange(300) < 30), "yes", "")}
    )


@pytest.mark.parametrize(
    "given",
    [
        "spare, parts=0.6,refund=0.3,login=0.1",
        "login=0.1,refund=0.3,spare, parts=0.6",
        {"refund": 0.3, "login": 0.1, "spare, parts": 0.6},
        pd.Series({"refund": 0.3, "login": 0.1, "spare, parts": 0.6}),
        [0.1, 0.3, 0.6],  # in the order of the classes
        np.array([0.1, 0.3, 0.6]),
    ],
)
def test_shares_of_classes(tickets, given):
    found = fit_table(tickets, "queue", class_ratio=given, **OPTIONS)
    assert found.metadata["training"]["classes"] == ["login", "refund", "spare, parts"]
    np.testing.assert_allclose(found.model[-1].class_ratio_, [0.1, 0.3, 0.6])
    assert "10 % login, 30 % refund, 60 % spare, parts" in found.metadata["training"]["settings"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"refund": 0.5, "login": 0.5},
            r"class_ratio needs a share for each.*'spare, parts' is m",
        ),
        ({"refund": 0.3, "login": 0.1, "spare": 0.6}, "'spare' is no class; the classes are"),
        ({"refund": 0.3, "login": 0.3, "spare, parts": 0.6}, "sum to 1.2; they must sum to 1"),
        (0.3, "single share, for two classes, but there are 3; pass a share for each class"),
        ("refund=most", "is not valid; it must be 'estimate', a number"),
        ("refund=0.5,", "is not valid"),
        ({"refund": 2.0}, "class_ratio=2 is out of range"),
        (object(), "is not valid"),
    ],
)
def test_shares_that_are_refused(tickets, given, message):
    with pytest.raises(UserError, match=message):
        fit_table(tickets, "queue", class_ratio=given, **OPTIONS)


def test_the_message_names_what_one_types():
    with pytest.raises(UserError) as error:
        fit_table(
            pd.DataFrame({"a": range(30), "y": ["x", "y", "z", *[""] * 27]}), "y", class_ratio=0.5,
            method="s3vm", keep="a", **OPTIONS,
        )  # fmt: skip
    assert "--class-ratio A=0.6,B=0.3,C=0.1" in as_flags(error.value)
    assert "class_ratio={'A': 0.6, 'B': 0.3, 'C': 0.1}" in str(error.value)


def test_classes_that_are_numbers(tickets):
    frame = tickets.assign(queue=tickets.queue.map({"login": 1, "refund": 2, "spare, parts": 3}))
    found = fit_table(frame, "queue", class_ratio={1: 0.1, 2.0: 0.3, 3: 0.6}, **OPTIONS)
    np.testing.assert_allclose(found.model[-1].class_ratio_, [0.1, 0.3, 0.6])


@pytest.mark.parametrize("machine", ["pusvm", "pu-logistic"])
def test_a_prior_among_all_rows(patients, machine):
    options = dict(method=machine, **OPTIONS)
    pooled = fit_table(patients, "sick", prior=0.3, prior_convention="pooled", **options)
    assert pooled.model[-1].prior_ == pytest.approx((0.3 * 300 - 30) / 270)
    assert pooled_from_unlabeled(pooled.model[-1].prior_, 30, 270) == pytest.approx(0.3)
    plain = fit_table(patients, "sick", prior=0.3, prior_convention="unlabeled", **options)
    assert plain.model[-1].prior_ == 0.3


def test_priors_among_all_rows_that_are_refused(patients, tmp_path):
    with pytest.raises(UserError, match=r"leaves no positive.*30 of 300 rows are labelled"):
        fit_table(patients, "sick", prior=0.1, prior_convention="pooled", **OPTIONS)
    with pytest.raises(UserError, match="pass prior=SHARE as well"):
        fit_table(patients, "sick", prior_convention="pooled", **OPTIONS)
    with pytest.raises(UserError, match="Unknown prior_convention='all'"):
        FitOptions(prior=0.1, prior_convention="all")
    pd.concat([patients] * 40).to_csv(tmp_path / "many.csv", index=False)
    options = dict(method="pusvm", prior=0.3, memory="10K", **OPTIONS)
    with pytest.raises(UserError, match="prior_convention='pooled' needs rows in memory"):
        fit_table(tmp_path / "many.csv", "sick", prior_convention="pooled", **options)
    with pytest.raises(UserError, match="rows=True needs rows in memory"):
        fit_table(tmp_path / "many.csv", "sick", rows=True, **options)
