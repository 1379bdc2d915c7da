"""Bets, martingales and charts keep their promises on unchanged p-values."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad

from fewlabels.monitoring.charts import (
    CHARTS,
    LOG_THRESHOLDS,
    RUN_LENGTHS,
    Cusum,
    Martingale,
    ShiryaevRoberts,
    log_threshold,
)
from fewlabels.monitoring.martingales import Histogram, linear, new_bettors, powers


@pytest.mark.parametrize("densities", [linear, powers])
def test_bets_are_densities(densities):
    for k in range(len(densities(0.5))):
        mass = quad(lambda p, k=k: densities(p)[k], 0.0, 0.5, limit=200)[0]
        mass += quad(lambda p, k=k: densities(p)[k], 0.5, 1.0, limit=200)[0]
        assert mass == pytest.approx(1.0, abs=1e-6)
        assert min(densities(p)[k] for p in np.linspace(0.001, 0.999, 99)) >= 0.0


def test_the_histogram_is_a_density_at_every_moment():
    bettor, rng = Histogram(), np.random.default_rng(0)
    for p in rng.random(300) ** 3:
        state = bettor.state
        growths = []
        for k in range(10):
            bettor.state = state
            growths.append(bettor.growth((k + 0.5) / 10))
        assert np.mean(growths) == pytest.approx(1.0, rel=1e-12)
        bettor.state = state
        bettor.growth(p)
        assert sum(bettor.counts) == pytest.approx(bettor.total, rel=1e-12)


def test_a_martingale_is_an_average_over_starting_rows():
    # The slow twin: capital that begins to bet with row k, for every k and every bettor.
    rng = np.random.default_rng(1)
    growths = rng.gamma(2.0, 0.5, size=(40, 3))
    chart = Martingale(0.01, 3)
    reserve = np.log(2.0) / np.log(2.0 + np.arange(41) / 100.0)
    for n in range(1, 41):
        found = chart.step(growths[n - 1].tolist())
        begun = sum(
            (reserve[k] - reserve[k + 1]) * np.prod(growths[k:n], axis=0).mean() for k in range(n)
        )
        assert found == pytest.approx(np.log(reserve[n] + begun), rel=1e-10)


def test_charts_are_sums_and_maxima_over_starting_rows():
    growths = np.random.default_rng(2).gamma(2.0, 0.5, size=(40, 3))
    roberts, cusum = ShiryaevRoberts(100, 3), Cusum(100, 3)
    for n in range(1, 41):
        since = np.array([np.prod(growths[k:n], axis=0) for k in range(n)])
        row = growths[n - 1].tolist()
        assert roberts.step(row) == pytest.approx(np.log(since.sum(axis=0).mean()), rel=1e-9)
        assert cusum.step(row) == pytest.approx(np.log(since.max(axis=0).mean()), rel=1e-9)


@pytest.mark.parametrize("make", [lambda: Martingale(0.01, 3), lambda: Cusum(1000, 3)])
@pytest.mark.parametrize("height", [1.0, 1e40])
def test_charts_continue_from_a_state(make, height):
    chart, other = make(), make()
    chart.step([0.5, 0.9, 1.2])
    chart.step([height, 1.1, 1.0])
    other.state = json.loads(json.dumps(chart.state))
    assert other.log == chart.log
    assert other.step([1.3, 0.7, 1.0]) == chart.step([1.3, 0.7, 1.0])


def alarms(chart, p_values):
    """Rows at which a chart alarms."""
    bets, found = new_bettors(), []
    for k, p in enumerate(p_values):
        if chart.step([bettor.growth(p) for bettor in bets]) >= chart.threshold:
            found.append(k)
            break
    return found


def test_ville_and_run_lengths_hold_on_uniform_p_values():
    rng = np.random.default_rng(3)
    ever = sum(bool(alarms(Martingale(0.1, 3), rng.random(400).tolist())) for _ in range(300))
    assert ever <= 45  # at most 30 are expected; P(more than 45 of 300 at .1) = .003


@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize(("run_length", "n"), [(35, 1500), (320, 300)])  # not in the table
def test_charts_have_the_run_length_that_was_set(chart, run_length, n):
    rng, lengths = np.random.default_rng([run_length, 4]), []
    for _ in range(n):
        p_values = rng.random(60 * run_length).tolist()
        lengths += [k + 1 for k in alarms(CHARTS[chart](run_length, 3), p_values)]
    assert len(lengths) == n
    error = np.std(lengths) / np.sqrt(n)  # 1.5 to 12 %
    assert 0.95 * run_length - 3 * error < np.mean(lengths) < 1.1 * run_length + 3 * error


@pytest.mark.parametrize("chart", CHARTS)
def test_thresholds_increase_and_are_bounds_outside_the_table(chart):
    table = np.array(LOG_THRESHOLDS[chart])
    assert len(table) == len(RUN_LENGTHS) and np.all(np.diff(table) > 0)
    assert np.all(table <= np.log(RUN_LENGTHS))  # the bound is never undercut by luck alone
    for k in (0, 7, -1):
        assert log_threshold(chart, RUN_LENGTHS[k]) == pytest.approx(table[k], abs=1e-12)
    for run_length in (2, 9, 1_000_001, 10**9):
        assert log_threshold(chart, run_length) == np.log(run_length)


def test_the_simulation_of_thresholds_follows_the_charts(monkeypatch):
    folder = Path(__file__).resolve().parents[2] / "benchmarks"
    path = folder / "checks" / "chart_thresholds.py"
    monkeypatch.syspath_prepend(str(folder))
    spec = importlib.util.spec_from_file_location("simulation", path)
    script = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "simulation", script)
    spec.loader.exec_module(script)
    streams, rows, seed = 3, 300, 5
    found = script.simulate(streams, rows, seed)
    rng = np.random.default_rng(seed)
    p_values = np.array([rng.random(streams) for _ in range(rows)])
    for name, passages in found.items():
        for k in range(streams):
            chart, bets, highest = CHARTS[name](10, 3), new_bettors(), []
            for p in p_values[:, k].tolist():
                highest.append(chart.step([bet.growth(p) for bet in bets]))
            highest = np.maximum.accumulate(highest)
            expected = 1 + np.searchsorted(highest, script.LEVELS)
            np.testing.assert_array_equal(passages[:, k], expected)


def test_a_state_keeps_its_threshold_until_the_chart_restarts():
    chart = Cusum(1000, 3)
    chart.state = {"n_rows": 5, "pools": [20.0, 2.0, 30.0], "threshold": np.log(1000)}
    assert chart.threshold == np.log(1000) and np.exp(chart.log) > np.exp(
        log_threshold("cusum", 1000)
    )
    again = Cusum(1000, 3)
    again.state = Cusum(1000, 3).state
    assert again.threshold == log_threshold("cusum", 1000)


def test_evidence_does_not_overflow_or_vanish():
    chart, bets = Martingale(0.01, 3), new_bettors()
    for p in [1e-18] * 400 + [0.5] * 400 + [1.0 - 2.0**-53] * 400:
        log = chart.step([bettor.growth(p) for bettor in bets])
        assert np.isfinite(log)
    assert log > 1000.0
