"""Detectors of changes as one kind of object: a statistic per row that alarms when it is high.

``path(stream, seed)`` gives the statistic after each row of a stream, without ever beginning anew.
``tuning`` and ``streams`` say how many unchanged and changed streams it gets, and ``only`` the
settings that a slow one runs on. ``defaults`` are the thresholds that the tool comes with, by
name. Not every detector is installed everywhere.
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

    name, streams, tuning = "fewlabels", 100, 300
    defaults = (("1 %", np.log(100.0)), ("5 %", np.log(20.0)))

    def path(self, stream, seed):
        return watch(stream.first, seed).update_scores(stream.scores).log_evidence


class Chart:
    """A chart for repeated alarms, which promises a mean run length."""

    streams, tuning = 50, 200

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

    name, streams, tuning = "MAPIE, jumper", 100, 300
    defaults, method = Ours.defaults, "jumper_martingale"

    def __init__(self):
        from mapie.exchangeability_testing import OnlineMartingaleTest

        self._make = OnlineMartingaleTest

    def path(self, stream, seed):
        test = self._make(test_method=self.method, warn=False, random_state=seed)
        history = np.concatenate([-stream.first, -stream.scores])
        logs = np.empty(len(stream.scores))
        for k in range(len(logs)):
            n = len(stream.first) + k
            logs[k] = self._step(test, test.compute_p_value(history[n], history[:n]))
        return logs

    @staticmethod
    def _step(test, p):
        return np.log(max(test.update_simple_jumper_martingale(p), 1e-300))


class MapiePlugIn(Mapie):
    """The plug-in martingale of MAPIE: bets by the density of all p-values so far.

    Its kernel estimate takes time in proportion to the rows so far. The same density is a sum of
    a few cosines, whose coefficients grow row by row (``Density``). They are compared when the
    first stream comes.
    """

    name, method = "MAPIE, plug-in", "plugin_martingale"
    streams, tuning = 10, 100

    def path(self, stream, seed):
        test, density = self._make(test_method=self.method, random_state=seed), Density()
        history = np.concatenate([-stream.first, -stream.scores])
        found = np.zeros(len(stream.scores))
        for k in range(len(found)):
            n = len(stream.first) + k
            p = test.compute_p_value(history[n], history[:n])
            found[k] = np.log(max(density.at(p, test.burn_in), 1e-300))
            if not k % 40 and k < 600 and not seed:
                theirs = test._estimate_pvalues_density(p)
                assert abs(np.exp(found[k]) - theirs) < 0.01, (k, np.exp(found[k]), theirs)
            density.add(p)
            test.pvalue_history.append(p)
        return np.cumsum(found)


class Density:
    """The density of p-values that MAPIE plugs in: a Gaussian kernel, reflected at both ends."""

    terms = np.pi * np.arange(1, 60)
    grid = np.linspace(0.0, 1.0, 200)
    cosines = np.cos(np.outer(grid, terms))

    def __init__(self):
        self.n, self.sum, self.squares = 0, 0.0, 0.0
        self.waves = np.zeros(len(self.terms))

    def add(self, p):
        self.n += 1
        self.waves += np.cos(self.terms * p)
        self.sum += p
        self.squares += p * p

    def at(self, p, burn_in):
        if self.n <= burn_in:
            return 1.0
        n = 3 * self.n  # with both reflections: -p, p, 2 - p
        mean = (self.sum + 2.0 * self.n - self.sum - self.sum) / n
        squares = 3.0 * self.squares + 4.0 * self.n - 4.0 * self.sum
        spread = np.sqrt((squares - n * mean * mean) / (n - 1))
        width = spread * (n * 0.75) ** -0.2
        weights = 2.0 * self.waves / self.n * np.exp(-0.5 * (self.terms * width) ** 2)
        share = burn_in / self.n
        value = 1.0 + np.cos(self.terms * p) @ weights
        return (1.0 - share) * max(value, 0.0) + share


class Nonconform:
    """nonconform's sequential ranks and its jumper (Python 3.12 and later).

    The statistic is the martingale that may begin with any row, with the same promise as ours.
    """

    name, streams, tuning = "nonconform, restarted jumper", 10, 60
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

    name, streams, tuning = "Page-Hinkley", 100, 300
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

    name, streams, tuning = "KSWIN", 100, 200
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
    """river's; the statistic is -log10 of the smallest delta that has alarmed so far."""

    name, streams, tuning = "ADWIN", 100, 300
    defaults = (("default", -np.log10(0.002)),)
    deltas = 10.0 ** np.arange(-0.5, -12.1, -0.25)

    def __init__(self):
        from river.drift import ADWIN

        self._make = ADWIN

    def path(self, stream, seed):
        values = np.concatenate([stream.first, stream.scores]).tolist()
        found, n = np.zeros(len(stream.scores)), len(stream.first)
        for delta in (*self.deltas, 0.002):
            rival = self._make(delta=delta)
            for k, value in enumerate(values):
                rival.update(value)
                if rival.drift_detected and k >= n:
                    found[k - n :] = np.maximum(found[k - n :], -np.log10(delta))
                    break
        return found


class Mmd:
    """alibi-detect's online MMD on the rows themselves, which promises a mean run length.

    Its reference is a fixed set of 700 rows, as many as the model and the monitor have together.
    Configuring one is slow, so there is one per setting for all streams. Forty unchanged streams
    are too few for a threshold that 1 % of them reach.
    """

    name, streams, tuning = "online MMD", 10, 40
    defaults = (("1000 rows", 0.0),)
    run_length, window, references, bootstraps = 1000, 50, 1, 2000

    def __init__(self):
        import logging

        import torch
        from alibi_detect.cd import MMDDriftOnline

        logging.getLogger("alibi_detect").setLevel(logging.ERROR)
        torch.set_num_threads(1)
        self._make, self._ready = MMDDriftOnline, {}

    def path(self, stream, seed):
        import torch

        k = seed % self.references
        key = stream.setting.name, k
        if key not in self._ready:
            torch.manual_seed(k)
            rng = np.random.default_rng([k, 99])
            reference = stream.setting.draw(rng, 700).astype(np.float32)
            self._ready[key] = self._make(
                reference, ert=self.run_length, window_size=self.window, backend="pytorch",
                n_bootstraps=self.bootstraps, verbose=False,
            )  # fmt: skip
        rival = self._ready[key]
        torch.manual_seed(seed)
        rival.reset_state()
        found = []
        for row in stream.rows.astype(np.float32):
            # Relative to its own threshold, which varies over the first rows.
            score = rival.score(row)
            found.append(float(score - rival._detector.get_threshold(rival.t)))
        return np.array(found)


DETECTORS = {
    kind.name: kind
    for kind in (Ours, Mapie, MapiePlugIn, Nonconform, Adwin, PageHinkley, Kswin, Mmd)
} | {f"fewlabels, {chart}": Chart for chart in CHARTS}


@lru_cache
def detector_of(name):
    """Make a detector; raises ImportError if it isn't installed."""
    kind = DETECTORS[name]
    return kind(name.split(", ")[1]) if kind is Chart else kind()
