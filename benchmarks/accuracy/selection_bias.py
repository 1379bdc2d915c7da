"""Positive-unlabelled learning where labelled positives aren't a random sample.

methods   16 real sets, about 100 labelled positives, 1000 unlabelled and up to 1500 test rows.
          Accuracy, F1 and ROC AUC on test rows.
test      How often labelled_at_random_test rejects, with the prior estimated and known.
coverage  How often 90 % intervals of the prior contain the truth if labels are random.

Positives of a pool are labelled independently with their propensity: proportional to the first,
5th or 10th power of the true score (k = 1, 5, 10), falling with it, or depending on the two
columns of largest variance. "top" labels the 100 with the greatest scores. The true score is
P(positive | x) by a forest of 200 trees with all true labels, out of bag. The unlabelled rows are
a random sample of their own, so their prior is the prior of the set.

Sets are taken in turn for choosing rules ("chosen on") and for reporting ("shown on"): the rules
that shrink weights and widen intervals and the statistics of the test were chosen on the former.
Each figure is written as soon as it is known, and a program that is started again continues.
Methods of pulearn and pu-toolbox run where these are installed. Neither has VPU, which
accuracy/vpu.py implements.
"""

from __future__ import annotations

import time
from functools import lru_cache
from itertools import product

import numpy as np
from accuracy import vpu
from scipy.stats import t
from shared.common import group, mean
from shared.pu_data import REAL_SETS, read, scaled
from shared.pu_methods import METHODS, Task
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import f1_score, roc_auc_score
from study import Case, Setting, Study

from fewlabels import PUSVM, PUEnsemble
from fewlabels.baselines import PUBaseline
from fewlabels.class_prior import estimate_prior
from fewlabels.model_selection import estimate_propensity, labelled_at_random_test

PARTS = ["methods", "test", "coverage"]
MECHANISMS = ["random", "k = 1", "k = 5", "k = 10", "falling", "two features", "top"]
N_POSITIVE, N_UNLABELLED, N_TEST, N_ROWS = 100, 1000, 1500, 6000
SETS = list(REAL_SETS)
CHOSEN_ON, SHOWN_ON = SETS[0::2], SETS[1::2]


# -- data ----------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def loaded(folder, name, seed):
    """Rows, which are positive, and their true scores."""
    source = REAL_SETS[name]
    X, y = read(folder, source.file, "X", "y")
    y = np.isin(y, source.positive)
    kept = np.random.default_rng(seed).permutation(len(y))[:N_ROWS]
    X, y = scaled(source.scaling, X[kept].astype(float))[0], y[kept]
    forest = ExtraTreesClassifier(
        200, min_samples_leaf=2, bootstrap=True, oob_score=True, random_state=seed
    ).fit(X, y)
    return X, y, np.clip(np.nan_to_num(forest.oob_decision_function_[:, 1], nan=0.5), 1e-3, 0.999)


def relative_propensity(mechanism, score, X):
    if mechanism == "random":
        return np.ones(len(score))
    if mechanism == "falling":
        return 1.05 - score
    if mechanism == "two features":
        Z = X[:, np.argsort(-X.var(axis=0))[:2]]
        Z = (Z - Z.mean(axis=0)) / np.maximum(Z.std(axis=0), 1e-9)
        return 1.0 / (1.0 + np.exp(-2.0 * Z.sum(axis=1)))
    return score ** int(mechanism.split()[-1])


def drawn(data, mechanism, seed):
    """Training rows and labels, propensities (None: not known), truth, and test rows."""
    X, y, score = data
    rng = np.random.default_rng((seed, MECHANISMS.index(mechanism)))
    n_u = min(N_UNLABELLED, len(y) // 3)
    n_t = min(N_TEST, len(y) // 3)
    order = np.random.default_rng(seed).permutation(len(y))
    unlabelled, test, pool = np.split(order, [n_u, n_u + n_t])
    pool = pool[y[pool]]
    n = min(N_POSITIVE, len(pool) // 2)
    if mechanism == "top":
        labelled, propensity = pool[np.argsort(-score[pool], kind="stable")[:n]], None
    else:
        relative = relative_propensity(mechanism, score[pool], X[pool])
        low, high = 0.0, 2.0 * n / relative.min()
        for _ in range(100):
            middle = 0.5 * (low + high)
            is_low = np.minimum(1.0, middle * relative).sum() < n
            low, high = (middle, high) if is_low else (low, middle)
        chance = np.minimum(1.0, high * relative)
        taken = rng.random(len(pool)) < chance
        labelled, propensity = pool[taken], chance[taken]
    rows = np.concatenate([labelled, unlabelled])
    label = np.repeat([1.0, 0.0], [len(labelled), n_u])
    if propensity is not None:
        propensity = np.concatenate([propensity, np.full(n_u, np.nan)])
    return X[rows], label, propensity, y[rows], X[test], y[test]


# -- methods -------------------------------------------------------------------------------------


def _fit(model, X, y, **options):
    model.fit(X, y, **options)
    return model.decision_function, lambda Z: model.decision_function(Z) > 0


def _ensemble():
    return PUEnsemble(kernel="rbf", n_bags=15, n_jobs=1)


def _two_columns(X, y, propensity, prior):
    """Propensities estimated from the two columns of largest variance."""
    columns = X[:, np.argsort(-X.var(axis=0))[:2]]
    return _fit(PUSVM(n_jobs=1), X, y, propensity=estimate_propensity(X, y, columns).propensity)


def _peer(name):
    def fit(X, y, propensity, prior):
        gamma = 1.0 / (X.shape[1] * X.var())
        learned = METHODS[name].fit(Task(X, y, prior, gamma))
        return learned.score, learned.decide

    return fit


def _lbe(X, y, propensity, prior):
    from pu_toolbox.estimators.bias_aware.lbe import LBEClassifier

    model = LBEClassifier().fit(X, y.astype(int))
    return lambda Z: model.predict_proba(Z)[:, 1], lambda Z: np.ravel(model.predict(Z)) > 0


def _vpu(X, y, propensity, prior):
    score = vpu.fit(X, y)
    return score, lambda Z: score(Z) > np.log(0.5)


# Each takes rows, labels, propensities and the true prior. Those that need propensities are left
# out where these are unknown.
OURS = {
    "PUSVM": lambda X, y, e, prior: _fit(PUSVM(n_jobs=1), X, y),
    "PUSVM, true propensities": lambda X, y, e, prior: _fit(PUSVM(n_jobs=1), X, y, propensity=e),
    "PUSVM, true prior": lambda X, y, e, prior: _fit(PUSVM(prior, n_jobs=1), X, y),
    "PUSVM, true propensities and prior": lambda X, y, e, prior: _fit(
        PUSVM(prior, n_jobs=1), X, y, propensity=e
    ),
    "PUSVM, bias=2": lambda X, y, e, prior: _fit(PUSVM(bias=2.0, n_jobs=1), X, y),
    "PUSVM, propensities from two columns": _two_columns,
    "PUEnsemble": lambda X, y, e, prior: _fit(_ensemble(), X, y),
    "PUEnsemble, true propensities": lambda X, y, e, prior: _fit(_ensemble(), X, y, propensity=e),
    "forest": lambda X, y, e, prior: _fit(
        PUBaseline("random-forest", random_state=0, n_jobs=1), X, y
    ),
}
PEERS = {
    "nnPU, true prior (pulearn)": _peer("nnPU 200 bases, pulearn"),
    "LBE (pu-toolbox)": _lbe,
    "VPU, from the paper": _vpu,
}
ALL = {**OURS, **PEERS}


# -- measuring ------------------------------------------------------------------------------------


def measure(folder, part, name, mechanism, seed, what, draws):
    """One figure of a part: of a method, of the test, or of an interval."""
    X, y, propensity, truth, X_test, y_test = drawn(
        loaded(folder, name, seed % draws), mechanism, seed
    )
    prior = float(truth[y == 0].mean())
    if part == "test":
        given = prior if what == "known" else "estimate"
        found = labelled_at_random_test(X, y, prior=given, n_draws=99, random_state=seed)
        return {**found._asdict(), "true_prior": prior}
    if part == "coverage":
        found = estimate_prior(X, y, random_state=seed, n_jobs=1)
        return {"prior": prior, "estimate": found.prior, "width": found.high - found.low,
                "holds": float(found.low <= prior <= found.high)}  # fmt: skip
    if "true propensities" in what and propensity is None:
        return []
    started = time.process_time()
    score, decide = ALL[what](X, y, propensity, prior)
    decided = decide(X_test)
    return {
        "accuracy": float(np.mean(decided == y_test)), "f1": float(f1_score(y_test, decided)),
        "auc": float(roc_auc_score(y_test, score(X_test))), "prior": prior,
        "cpu": time.process_time() - started,
    }  # fmt: skip


def cases(options):
    for name in options.sets:
        for part in options.parts:
            for mechanism in MECHANISMS if part != "coverage" else MECHANISMS[:1]:
                is_many = part != "methods" and mechanism == "random"
                seeds = range(options.random_draws if is_many else options.draws)
                variants = {"methods": options.methods, "test": ("estimated", "known")}
                for seed, what in product(seeds, variants.get(part, ("",))):
                    key = {"part": part, "set": name, "mechanism": mechanism, "seed": seed,
                           "what": what}  # fmt: skip
                    yield Case(key, measure, (options.data, *key.values(), options.draws))


# -- tables -------------------------------------------------------------------------------------

HALVES = (("to choose on", CHOSEN_ON), ("to report on", SHOWN_ON))
PAIRS = (
    ("PUSVM, prior estimated", "PUSVM", "PUSVM, true propensities"),
    ("PUSVM, prior known", "PUSVM, true prior", "PUSVM, true propensities and prior"),
    ("PUEnsemble, prior estimated", "PUEnsemble", "PUEnsemble, true propensities"),
)


class Figures:
    """Figures of the methods: means over draws by method, mechanism and set."""

    def __init__(self, records):
        self.records = records
        self.found = group(records, "what", "mechanism", "set")
        self.methods = [m for m in ALL if any(key[0] == m for key in self.found)]

    def by_set(self, method, mechanism, figure):
        """Means over draws by set."""
        means = {n: mean(self.found.get((method, mechanism, n), ()), figure) for n in SETS}
        return {name: value for name, value in means.items() if value is not None}

    def sets(self, mechanism):
        """Sets of which all methods have figures that can have any."""
        found = [set(self.by_set(m, mechanism, "accuracy")) for m in self.methods]
        found = [one for one in found if one]
        return set.intersection(*found) if found else set()

    def cell(self, method, mechanism, figures):
        """Means over sets of means over draws."""
        sets = self.sets(mechanism)
        found = [self.by_set(method, mechanism, figure) for figure in figures]
        if not sets or not all(sets <= set(values) for values in found):
            return None
        return "/".join(f"{np.mean([values[name] for name in sets]):.3f}" for values in found)

    def changes(self, plain, weighted, mechanism):
        """Changes of accuracy by set, means over the draws that both have."""
        found = {}
        for name in SETS:
            before, after = (
                {r["seed"]: r["accuracy"] for r in self.found.get((method, mechanism, name), ())}
                for method in (plain, weighted)
            )
            apart = [after[seed] - before[seed] for seed in after if seed in before]
            if apart:
                found[name] = float(np.mean(apart))
        return found


def mean_and_interval(changes):
    values = np.array([*changes.values()])
    if len(values) < 2:
        return None
    half = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():+.3f}±{half:.3f}"


def lowest(changes):
    if not changes:
        return None
    name = min(changes, key=changes.get)
    return f"{changes[name]:+.3f} ({name.split(',')[0]})"


def change_rows(figures):
    for title, *pair in PAIRS:
        found = [figures.changes(*pair, x) for x in MECHANISMS[1:-1]]
        halves = HALVES if title == PAIRS[0][0] else ()  # the page has little room
        for half, sets in (*halves, ("together", SETS)):
            some = [{name: c for name, c in changes.items() if name in sets} for changes in found]
            yield [f"{title}, {len(some[0])} {half}", *map(mean_and_interval, some)]
        if halves:
            yield ["lowest of these", *map(lowest, found)]


def method_rows(figures, kinds, methods):
    rows = [[m, *(figures.cell(m, x, kinds) for x in MECHANISMS)] for m in methods]
    if len(kinds) == 2:
        rows.append(["sets", *(str(len(figures.sets(x))) for x in MECHANISMS)])
    return rows


def test_rows(records):
    found = group(records, "what", "mechanism")
    for half, sets in HALVES:
        for what in ("estimated", "known"):
            line = [f"sets {half}, prior {what}"]
            for mechanism in MECHANISMS:
                here = [r for r in found.get((what, mechanism), ()) if r["set"] in sets]
                values = [max(r["p_scores"], r["p_features"]) <= r["level"] for r in here]
                line.append(f"{sum(values)}/{len(values)}" if values else None)
            yield line


def coverage_rows(records):
    by_set = group(records, "set")
    if not by_set:
        return
    worst = min(by_set, key=lambda name: mean(by_set[name], "holds"))
    parts = [(f"sets {half}", [r for r in records if r["set"] in sets]) for half, sets in HALVES]
    parts += [("together", records), (f"{worst} (lowest)", by_set[worst])]
    for title, some in parts:
        if some:
            yield [title, len(some), mean(some, "holds"), mean(some, "width")]


def tables(results):
    """Name, columns, rows and other arguments of each entry that has figures."""
    figures = Figures(results.where(part="methods"))
    methods = figures.methods
    draws = {m: len({r["seed"] for r in figures.records if r["what"] == m}) for m in methods}
    about = {"label": "method", "note": "means over sets; draws per set: " + ", ".join(
        f"{m} {n}" for m, n in draws.items())}  # fmt: skip
    found = [
        ("selection-bias-thresholds", MECHANISMS,
         method_rows(figures, ("accuracy", "f1"), methods),
         about | {"unit": "accuracy/F1 on test rows"}),
        ("selection-bias-rankings", MECHANISMS, method_rows(figures, ("auc",), methods),
         about | {"unit": "ROC AUC on test rows"}),
        ("selection-bias-change", MECHANISMS[1:-1], list(change_rows(figures)),
         {"label": "method", "unit": "change of accuracy on test rows by true propensities",
          "note": "mean over sets and its 95 % interval"}),
        ("selection-bias-test", MECHANISMS, list(test_rows(results.where(part="test"))),
         {"label": "sets", "unit": "tests that reject at 5 %",
          "note": "random: level; others: power"}),
        ("selection-bias-coverage", ["intervals", "contain the truth", "mean width"],
         list(coverage_rows(results.where(part="coverage"))),
         {"label": "sets", "unit": "share of 90 % intervals under random labels",
          "formats": [",", ".1%", ".3f"]}),
    ]  # fmt: skip
    for name, columns, rows, more in found:
        rows = [row for row in rows if any(cell is not None for cell in row[1:])]
        if rows:
            yield name, columns, rows, more


def entries(results):
    return [results.entry(name, columns, rows, **about)
            for name, columns, rows, about in tables(results)]  # fmt: skip


def files(options):
    return [REAL_SETS[name].file for name in options.sets]


STUDY = Study(
    __doc__, cases, entries=entries, data="required", files=files,
    choices={"parts": PARTS, "methods": list(ALL), "sets": SETS},
    settings={"draws": Setting(2, "draws of a set and mechanism"),
              "random_draws": Setting(8, "draws with random labels, for test and coverage")},
    quick={"sets": SETS[-1:], "methods": ["PUSVM", "PUSVM, true propensities"],
           "draws": 1, "random_draws": 1},
)  # fmt: skip
