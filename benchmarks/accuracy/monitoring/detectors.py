"""Detectors of changes as one kind of object: a statistic per row that alarms when it is high.

``path(stream, seed)`` gives the statistic after each row of a stream, without ever beginning anew.
``unchanged`` and ``changed`` say how many streams of either kind it gets. ``defaults`` are the
thresholds that the tool comes with, by name. Not every detector is installed everywhere.
"""

import types
import warnings
from functools import lru_cache

import numpy as np
from scipy import stats

from fewlabels.monitoring.charts import CHARTS
from fewlabels.monitoring.martingales import new_bettors

from .rates import watch


class Ours:
    """``Monitor``, which promises that at most a share alpha of unchanged streams ever alarms."""

    name, changed, unchanged = "fewlabels", 100, 300
    defaults = (("1 %", np.log(100.0)), ("5 %", np.log(20.0)))

    def path(self, stream, seed):
        return watch(stream.first, seed).update_scores(stream.scores).log_evidence


class Chart:
    """A chart for repeated alarms, which promises a mean run length."""

    changed, unchanged = 50, 200

    def __init__(self, chart):
        self.name, self._chart = f"fewlabels, {chart}", CHARTS[chart]
        lengths = 1000, 10_000, 100_000
        self.defaults = tuple((f"{n} rows", self._chart(n, 3).threshold) for n in lengths)

    def path(self, stream, seed):
        p_values = watch(stream.first, seed).update_scores(stream.scores).p_values
        bets = new_bettors()
        chart = self._chart(2, len(bets))
        return np.array([chart.step([b.growth(p) for b in bets]) for p in p_values.tolist()])


class Mapie:
    """The jumper martingale of MAPIE, with its ranks among earlier scores; the same promise."""

    name, changed, unchanged = "MAPIE, jumper", 100, 300
    defaults = Ours.defaults

    def __init__(self):
        from mapie.exchangeability_testing import OnlineMartingaleTest

        self._make = OnlineMartingaleTest

    def path(self, stream, seed):
        test = self._make(test_method="jumper_martingale", warn=False, random_state=seed)
        history = np.concatenate([-stream.first, -stream.scores])
        logs = np.empty(len(stream.scores))
        for k in range(len(logs)):
            n = len(stream.first) + k
            p = test.compute_p_value(history[n], history[:n])
            logs[k] = np.log(max(test.update_simple_jumper_martingale(p), 1e-300))
        return logs


class Nonconform:
    """nonconform's sequential ranks and its jumper (Python 3.12 and later).

    The statistic is the martingale that may begin with any row, with the same promise as ours.
    """

    name, changed, unchanged = "nonconform, restarted jumper", 10, 60
    defaults = Ours.defaults

    def __init__(self):
        from nonconform import martingales, monitoring

        self._ranks = monitoring.SequentialRankConformalizer
        self._make = martingales.SimpleJumperMartingale

    def path(self, stream, seed):
        ranks, martingale = self._ranks(tail="lower", seed=seed), self._make()
        ranks.prime_many(stream.first)
        return np.array([
            martingale.update(ranks.update(score)).log_restarted_martingale
            for score in stream.scores.tolist()
        ])  # fmt: skip


class PageHinkley:
    """river's; its default threshold promises no rate."""

    name, changed, unchanged = "Page-Hinkley", 100, 300
    defaults = (("default", 50.0),)

    def __init__(self):
        from river.drift import PageHinkley as Rival

        self._make = Rival

    def path(self, stream, seed):
        rival, found = self._make(threshold=np.inf), []
        for value in np.concatenate([stream.first, stream.scores]).tolist():
            rival.update(value)
            up = rival._sum_increase - rival._min_increase
            found.append(max(up, rival._max_decrease - rival._sum_decrease))
        return np.array(found[len(stream.first) :])


class Kswin:
    """river's; its alpha of .005 is the level of each row's test. The statistic is -log10(p)."""

    name, changed, unchanged = "KSWIN", 100, 200
    defaults = (("default", -np.log10(0.005)),)

    def __init__(self):
        from river.drift import kswin

        # The same p-values as scipy computes, looked up: they depend on the statistic alone.
        n = 30
        table = [_exact(k, n) for k in range(n + 1)]
        kswin.stats = types.SimpleNamespace(ks_2samp=lambda a, b, method: _looked_up(a, b, table))
        self._make = kswin.KSWIN

    def path(self, stream, seed):
        rival, found = self._make(alpha=0.0, seed=seed), []
        for value in np.concatenate([stream.first, stream.scores]).tolist():
            rival.update(value)
            p = rival.p_value
            found.append(-np.log10(max(p, 1e-300)) if rival.n >= rival.window_size else 0.0)
        return np.array(found[len(stream.first) :])


def _exact(k, n):
    """The p-value of two samples of n rows whose distributions are k / n apart."""
    a, b = np.arange(float(n)), np.arange(float(n)) + k - 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it falls back to the asymptotic value, as for river
        found = stats.ks_2samp(a, b, method="auto")
    assert round(found.statistic * n) == k or k == 0
    return 1.0 if k == 0 else found.pvalue


def _looked_up(a, b, table):
    a, b = np.sort(a), np.sort(b)
    both = np.concatenate([a, b])
    apart = np.searchsorted(a, both, "right") - np.searchsorted(b, both, "right")
    k = int(np.abs(apart).max())
    return k / len(a), table[k]


class Adwin:
    """river's at its default; the statistic is 1 from its first alarm on."""

    name, changed, unchanged = "ADWIN", 100, 300
    defaults = (("default", 1.0),)

    def __init__(self):
        from river.drift import ADWIN

        self._make = ADWIN

    def path(self, stream, seed):
        values = np.concatenate([stream.first, stream.scores]).tolist()
        found, n, rival = np.zeros(len(stream.scores)), len(stream.first), self._make()
        for k, value in enumerate(values):
            rival.update(value)
            if rival.drift_detected and k >= n:
                found[k - n :] = 1.0
                break
        return found


class Mmd:
    """alibi-detect's online MMD on the rows themselves, which promises a mean run length.

    Its reference is a fixed set of 700 rows, as many as the model and the monitor have together.
    Configuring one is slow, so there is one per setting for all streams.
    """

    name, changed, unchanged = "online MMD", 10, 40
    defaults = (("1000 rows", 0.0),)

    def __init__(self):
        import logging

        import torch
        from alibi_detect.cd import MMDDriftOnline

        logging.getLogger("alibi_detect").setLevel(logging.ERROR)
        torch.set_num_threads(1)
        self._make, self._ready = MMDDriftOnline, {}

    def path(self, stream, seed):
        import torch

        name = stream.setting.name
        if name not in self._ready:
            torch.manual_seed(0)
            reference = stream.setting.draw(np.random.default_rng([0, 99]), 700)
            self._ready[name] = self._make(
                reference.astype(np.float32), ert=1000, window_size=50, backend="pytorch",
                n_bootstraps=2000, verbose=False,
            )  # fmt: skip
        rival = self._ready[name]
        torch.manual_seed(seed)
        rival.reset_state()
        found = []
        for row in stream.rows.astype(np.float32):
            # Relative to its own threshold, which varies over the first rows.
            score = rival.score(row)
            found.append(float(score - rival._detector.get_threshold(rival.t)))
        return np.array(found)


DETECTORS = {
    kind.name: kind for kind in (Ours, Mapie, Nonconform, Adwin, PageHinkley, Kswin, Mmd)
} | {f"fewlabels, {chart}": Chart for chart in CHARTS}


@lru_cache
def detector_of(name):
    """Make a detector; raises ImportError if it isn't installed."""
    kind = DETECTORS[name]
    return kind(name.split(", ")[1]) if kind is Chart else kind()
