"""Metrics of positive-unlabelled data against their definitions, written out row by row."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewlabels.class_prior import pooled_from_unlabeled
from fewlabels.metrics import (
    lee_liu_score,
    pu_accuracy,
    pu_auc,
    pu_f1,
    pu_precision,
    pu_recall,
    pu_risk,
)

# Losses of a decision f for a positive row (label 1) or a negative one (label -1).
LOSSES = {
    "zero-one": lambda f, label: float((1 if f > 0 else -1) != label),
    "double-hinge": lambda f, label: max(-label * f, 0.0, (1 - label * f) / 2),
    "ramp": lambda f, label: min(1.0, max(0.0, (1 - label * f) / 2)),
    "logistic": lambda f, label: math.log(1 + math.exp(-label * f)),
    "squared": lambda f, label: (label - f) ** 2 / 4,
    "sigmoid": lambda f, label: 1 / (1 + math.exp(label * f)),
}

decisions = st.sampled_from([-3.0, -1.5, -1.0, -0.3, 0.0, 0.2, 1.0, 1.1, 4.0])
rows = st.lists(st.tuples(decisions, st.integers(1, 3)), min_size=1, max_size=6)
priors = st.floats(0.05, 0.95)
conventions = st.sampled_from(["unlabeled", "pooled"])


def sample(positive, unlabeled):
    """y, decisions and weights of both kinds of rows, and the rows written out."""
    y = np.r_[np.ones(len(positive)), np.zeros(len(unlabeled))]
    f, weight = np.array(positive + unlabeled).T
    p = [f for f, w in positive for _ in range(int(w))]
    u = [f for f, w in unlabeled for _ in range(int(w))]
    return y, f, weight, p, u


def mean(values):
    values = list(values)
    return math.fsum(values) / len(values)


@given(rows, rows, priors, conventions, st.sampled_from(list(LOSSES)))
def test_risk_is_its_definition(positive, unlabeled, prior, convention, loss):
    y, f, weight, p, u = sample(positive, unlabeled)
    x = u if convention == "unlabeled" else p + u
    charge = LOSSES[loss]
    right = prior * mean(charge(v, 1) for v in p)
    negatives = mean(charge(v, -1) for v in x) - prior * mean(charge(v, -1) for v in p)
    options = dict(loss=loss, convention=convention, sample_weight=weight)
    assert pu_risk(y, f, prior, **options) == pytest.approx(right + negatives, abs=1e-12)
    assert pu_risk(y, f, prior, non_negative=True, **options) == pytest.approx(
        right + max(0.0, negatives), abs=1e-12
    )


@given(rows, rows, priors, conventions)
def test_area_is_the_share_of_ordered_pairs(positive, unlabeled, prior, convention):
    y, f, weight, p, u = sample(positive, unlabeled)

    def won(others):
        return mean(1.0 * (a > b) + 0.5 * (a == b) for a in p for b in others)

    assert pu_auc(y, f, sample_weight=weight) == pytest.approx(won(u), abs=1e-12)
    x = u if convention == "unlabeled" else p + u
    found = pu_auc(y, f, prior, convention=convention, sample_weight=weight)
    assert prior / 2 + (1 - prior) * found == pytest.approx(won(x), abs=1e-12)


@given(rows, rows, priors, conventions)
def test_rates_are_their_definitions(positive, unlabeled, prior, convention):
    y, f, weight, p, u = sample(positive, unlabeled)
    x = u if convention == "unlabeled" else p + u
    recall, predicted = mean(v > 0 for v in p), mean(v > 0 for v in x)
    answer = (f > 0).astype(float)
    options = dict(convention=convention, sample_weight=weight)
    assert pu_recall(y, answer, sample_weight=weight) == pytest.approx(recall)
    # Shares of right positives, right negatives and so on, in the population.
    true_positive = prior * recall
    false_positive, false_negative = predicted - true_positive, prior - true_positive
    precision = true_positive / predicted if predicted else 0.0
    assert pu_precision(y, answer, prior, **options) == pytest.approx(precision)
    f1 = 2 * true_positive / (2 * true_positive + false_positive + false_negative)
    assert pu_f1(y, answer, prior, **options) == pytest.approx(f1)
    accuracy = pu_accuracy(y, answer, prior, **options)
    assert accuracy == pytest.approx(1 - false_positive - false_negative)
    assert accuracy == pytest.approx(1 - pu_risk(y, f, prior, **options))
    score = lee_liu_score(y, answer, **options)
    assert score == pytest.approx(recall**2 / predicted if predicted else 0.0)
    if predicted:
        assert score == pytest.approx(precision * recall / prior)


@given(rows, rows, st.floats(0.05, 0.95), st.sampled_from(list(LOSSES)))
def test_the_two_conventions_agree(positive, unlabeled, prior, loss):
    # The pooled population is the unlabelled one with the labelled positives added.
    y, f, _, p, u = sample([(v, 1) for v, _ in positive], [(v, 1) for v, _ in unlabeled])
    pooled = pooled_from_unlabeled(prior, len(p), len(u))
    assert pu_auc(y, f, pooled, convention="pooled") == pytest.approx(pu_auc(y, f, prior))
    of_positives = mean(LOSSES[loss](v, 1) for v in p)
    expected = (len(p) * of_positives + len(u) * pu_risk(y, f, prior, loss=loss)) / len(y)
    found = pu_risk(y, f, pooled, loss=loss, convention="pooled")
    assert found == pytest.approx(expected, abs=1e-12)


@given(rows, rows)
def test_every_coding_of_labels(positive, unlabeled):
    y, f, _, _, _ = sample(positive, unlabeled)
    expected = pu_risk(y, f, 0.4), lee_liu_score(y, f > 0)
    codings = {
        "-1, 1": np.where(y == 1, 1, -1),
        "nan": np.where(y == 1, 1.0, np.nan),
        "none": np.where(y == 1, "yes", None),
        "words": np.where(y == 1, "spam", "?"),
        "reversed": np.where(y == 1, 0, 1),
    }
    answers = {
        "-1, 1": np.where(f > 0, 1, -1),
        "nan": np.where(f > 0, 1.0, np.nan),
        "none": np.where(f > 0, "yes", None),
        "words": np.where(f > 0, "spam", "?"),
        "reversed": np.where(f > 0, 0, 1),
    }
    label = {"reversed": 0}
    for name, coded in codings.items():
        options = {"pos_label": label.get(name)}
        assert pu_risk(coded, f, 0.4, **options) == expected[0], name
        assert lee_liu_score(coded, answers[name], **options) == expected[1], name


# -- on data with a known truth -------------------------------------------------------------

SCORES = {
    "accuracy": lambda y, f, prior, c: pu_accuracy(y, f > 0, prior, convention=c),
    "logistic": lambda y, f, prior, c: pu_risk(y, f, prior, loss="logistic", convention=c),
    "double-hinge": lambda y, f, prior, c: pu_risk(y, f, prior, loss="double-hinge", convention=c),
    "auc": lambda y, f, prior, c: pu_auc(y, f, prior, convention=c),
}


def draw(rng, prior, convention, n_positive=60, n=400):
    """Decisions of positives N(1, 1) and negatives N(-1, 1), and PU labels."""
    truth = (rng.random(n) < prior).astype(float)
    f = rng.normal(2 * truth - 1, 1.0)
    if convention == "pooled":
        labelled = (truth == 1) & (rng.random(n) < 0.4)
        return labelled.astype(float), f
    y = np.r_[np.ones(n_positive), np.zeros(n)]
    return y, np.r_[rng.normal(1.0, 1.0, n_positive), f]


def truth_of(name, prior):
    """Values for infinitely many rows, by quadrature."""
    t = np.linspace(-9, 9, 20001)
    density = np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi) * (t[1] - t[0])
    if name == "auc":
        return 0.5 * (1 + math.erf(2 / math.sqrt(2) / math.sqrt(2)))
    loss = LOSSES["zero-one" if name == "accuracy" else name]
    risk = prior * sum(d * loss(1 + v, 1) for d, v in zip(density, t, strict=True))
    risk += (1 - prior) * sum(d * loss(v - 1, -1) for d, v in zip(density, t, strict=True))
    return 1 - risk if name == "accuracy" else risk


@pytest.mark.parametrize("convention", ["unlabeled", "pooled"])
@pytest.mark.parametrize("name", SCORES)
def test_estimates_are_unbiased(name, convention, rng):
    prior = 0.35
    found = [SCORES[name](*draw(rng, prior, convention), prior, convention) for _ in range(400)]
    error = np.std(found) / np.sqrt(len(found))
    assert error < 0.01
    assert abs(np.mean(found) - truth_of(name, prior)) < 4 * error


def test_the_wrong_convention_is_biased(rng):
    # The labelled positives are missing from the unlabelled rows: the prior of all rows is
    # too large for them.
    prior = 0.35
    found = [
        SCORES["logistic"](*draw(rng, prior, "pooled"), prior, "unlabeled") for _ in range(200)
    ]
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found) - truth_of("logistic", prior)) > 4 * error


def test_a_perfect_classifier_that_overfits_has_a_negative_risk():
    # Kiryo et al. 2017: this is what the non-negative risk is for.
    y, f = [1, 1, 0, 0], [5.0, 5.0, -5.0, -5.0]
    assert pu_risk(y, f, 0.5, loss="logistic") < 0
    assert pu_risk(y, f, 0.5, loss="logistic", non_negative=True) > 0


# -- what is refused ------------------------------------------------------------------------

Y, F = [1, 1, 0, 0], [1.0, -1.0, 1.0, -1.0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pu_risk(Y, F, 0.0), r"prior=0.0 is not allowed.*\(0, 1\)"),
        (lambda: pu_risk(Y, F, None), "prior=None is not allowed"),
        (lambda: pu_auc(Y, F, 1.0), "prior=1.0 is not allowed"),
        (lambda: pu_f1(Y, Y, float("nan")), "prior=nan is not allowed"),
        (lambda: pu_risk(Y, F, 0.5, loss="hinge"), "loss='hinge' is not valid.*double-hinge"),
        (lambda: pu_risk(Y, F, 0.5, convention="P+U"), "convention='P.U' is not valid.*pooled"),
        (lambda: pu_risk(Y, F[:3], 0.5), "inconsistent numbers of samples"),
        (lambda: pu_risk(Y, [1.0, np.nan, 0.0, 0.0], 0.5), "decision contains NaN"),
        (lambda: lee_liu_score(Y, [0.1, 0.2, 0.3, 0.4]), "the output of predict"),
        (lambda: lee_liu_score(Y, [1, 0]), "inconsistent numbers of samples"),
        (lambda: pu_risk([0, 1, 2, 1], F, 0.5), "3 different values"),
        (lambda: pu_risk([1, 1, 1, 1], F, 0.5), "no unlabelled row"),
        (lambda: pu_risk(Y, F, 0.5, sample_weight=[1, 1, 0, 0]), "0 for all positive or"),
        (lambda: pu_risk(Y, F, 0.5, sample_weight=[1, 1, 1, -1]), "number >= 0 per row"),
        (lambda: pu_recall([0, 0], [0, 0], pos_label=1), "no positive row"),
    ],
)
def test_refused_with_a_sentence(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_recall_needs_no_unlabelled_rows():
    assert pu_recall([1, 1, 1, 1], [1, 0, 1, 1], pos_label=1) == 0.75
    assert pu_recall(["a", None], ["a", "a"], pos_label="a") == 1.0
