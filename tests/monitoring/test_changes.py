"""What an explanation says of changes with known truth."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from fewlabels.monitoring import LORD, SAFFRON, Monitor
from fewlabels.monitoring.changes import locate_change
from fewlabels.monitoring.class_shift import class_shift, scores_by_class
from fewlabels.monitoring.features import compare, compare_pairs


def test_the_interval_covers_the_first_changed_row():
    rng, covered, width = np.random.default_rng(0), 0, []
    for _ in range(100):
        past, at = rng.normal(size=200), int(rng.integers(20, 380))
        scores = rng.normal(size=400)
        scores[at:] -= 1.0
        chances, _ = locate_change(past, scores, 399)
        low, high = np.searchsorted(np.cumsum(chances), [0.05, 0.95])
        covered += low <= at <= high
        width.append(high - low)
    assert covered >= 80 and np.median(width) < 60


def frame(seed, n, **changes):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    rows = {
        "a": a,
        "b": rng.normal(size=n),
        "c": a * changes.get("together", 0.0) + rng.normal(size=n),
        "kind": rng.choice(["x", "y", "z"], n, p=changes.get("p", [0.5, 0.3, 0.2])),
        "text": [
            " ".join(rng.choice(["pump", "valve", "motor", "is", "running", "fine"], 5))
            + (" leaking" if rng.random() < changes.get("leaks", 0.02) else f" {k}")
            for k in range(n)
        ],
    }
    return pd.DataFrame(rows)


def changed(before, after):
    return {f.name: f for f in compare(before, after) if f.changed}


def test_features_that_changed_are_found():
    before = frame(0, 600)
    found = changed(before, frame(1, 300, p=[0.2, 0.3, 0.5], leaks=0.4))
    assert set(found) == {"kind", "text"}
    assert found["kind"].after["z"] > 0.4 and found["text"].after["leaking"] > 0.25
    spread = frame(2, 300)
    spread["b"] *= 1.6
    assert set(changed(before, spread)) == {"b"}
    missing = frame(3, 300)
    missing.loc[::4, "b"] = np.nan
    assert set(changed(before, missing)) == {"b"}


def test_unchanged_features_are_rarely_reported():
    false = sum(bool(changed(frame(2 * k, 300), frame(2 * k + 1, 200))) for k in range(30))
    assert false <= 6  # P(any) <= .05 for each; P(more than 6 of 30) = .0006


def test_changed_relations_are_found():
    before, after = frame(0, 600), frame(1, 400, together=0.8)
    after["c"] /= after["c"].std()
    pairs = compare_pairs(before, after)
    assert [pair.names for pair in pairs] == [("a", "c")]
    assert pairs[0].after > 0.4 > pairs[0].before


@pytest.mark.parametrize("prior", [None, 0.3])
def test_a_changed_class_ratio_is_told_from_changed_features(prior):
    rng = np.random.default_rng(1)
    first, second = rng.normal(-1.5, 1, 400), rng.normal(1.5, 1, 200)
    if prior is not None:  # unlabelled rows
        first = np.where(rng.random(400) < prior, rng.normal(1.5, 1, 400), first)
    reference = scores_by_class(np.r_[first, second], np.r_[np.zeros(400), np.ones(200)], prior)
    more = rng.random(400) < 0.7
    ratio = class_shift(
        reference, np.where(more, rng.normal(1.5, 1, 400), rng.normal(-1.5, 1, 400))
    )
    assert ratio.explains and abs(ratio.after - 0.7) < 0.1
    features = class_shift(reference, rng.normal(0.0, 0.4, 400))
    assert not features.explains and features.p_value < 0.01


def test_a_monitor_reports_the_class_ratio():
    rng = np.random.default_rng(2)

    def rows(n, share):
        y = rng.random(n) < share
        return rng.normal(size=(n, 2)) + 2.0 * y[:, None], y.astype(int)

    model = LogisticRegression().fit(*rows(300, 0.3))
    monitor = Monitor(model, *rows(400, 0.3))
    monitor.update(rows(300, 0.3)[0])
    monitor.update(rows(500, 0.8)[0])
    shift = monitor.change().class_shift
    assert shift.explains and abs(shift.after - 0.8) < 0.1 and shift.positive == 1


@pytest.mark.parametrize("rule", [LORD, SAFFRON])
def test_levels_add_up_and_rates_hold(rule):
    # Without an alert the levels never spend more than half of q; weights sum to 1.
    distances = np.arange(1, 2_000_000)
    total = rule(0.1)._weight(distances).sum()
    assert 0.55 < total <= 1.0 + 1e-6
    rng, false = np.random.default_rng(3), []
    for _ in range(60):
        anomalous = rng.random(1500) < 0.05
        p = np.where(anomalous, rng.random(1500) * 1e-5, rng.random(1500))
        alerts = rule(0.1).test(p)
        assert alerts[anomalous].mean() > 0.3
        false.append((alerts & ~anomalous).sum() / max(1, alerts.sum()))
    assert np.mean(false) < 0.12


def test_rules_see_the_stream_once():
    p = np.random.default_rng(4).random(400) ** 3
    for rule in (LORD, SAFFRON):
        one, two = rule(0.1), rule(0.1)
        parts = [two.test(p[k : k + 7]) for k in range(0, 400, 7)]
        np.testing.assert_array_equal(one.test(p), np.concatenate(parts))
        assert one.state == two.state
