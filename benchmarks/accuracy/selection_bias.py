"""Positive-unlabelled learning where labelled positives aren't a random sample.

    python benchmarks selection_bias --data FOLDER [--parts methods test coverage]

methods   16 real sets, about 100 labelled positives, 1000 unlabelled and up to 1500 test rows.
          Accuracy, F1 and ROC AUC on test rows, and the error of the prior.
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

import json
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from accuracy import vpu
from results import entry
from scipy.stats import t
from shared.common import data_folder, machine, options
from shared.pu_data import REAL_SETS, read, scaled
from shared.pu_methods import METHODS, Task
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import f1_score, roc_auc_score

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
    return model.decision_function, lambda Z: model.decision_function(Z) > 0, model.prior_


def _ensemble():
    return PUEnsemble(kernel="rbf", n_bags=15, n_jobs=1)


def _two_columns(X, y, propensity, prior):
    """Propensities estimated from the two columns of largest variance."""
    columns = X[:, np.argsort(-X.var(axis=0))[:2]]
    return _fit(PUSVM(n_jobs=1), X, y, propensity=estimate_propensity(X, y, columns).propensity)


def _peer(name):
    def fit(X, y, propensity, prior):
        gamma, truth = 1.0 / (X.shape[1] * X.var()), np.zeros(len(y), bool)
        learned = METHODS[name].fit(Task(X, y, prior, gamma, truth))
        return learned.score, learned.decide, None

    return fit


def _lbe(X, y, propensity, prior):
    from pu_toolbox.estimators.bias_aware.lbe import LBEClassifier

    model = LBEClassifier().fit(X, y.astype(int))
    return lambda Z: model.predict_proba(Z)[:, 1], lambda Z: np.ravel(model.predict(Z)) > 0, None


def _vpu(X, y, propensity, prior):
    score = vpu.fit(X, y)
    return score, lambda Z: score(Z) > np.log(0.5), None


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


def measured(name, X, y, propensity, truth, X_test, y_test):
    prior = float(truth[y == 0].mean())
    if "true propensities" in name and propensity is None:
        return None
    started = time.process_time()
    score, decide, found = ALL[name](X, y, propensity, prior)
    decided = decide(X_test)
    return {
        "accuracy": float(np.mean(decided == y_test)),
        "f1": float(f1_score(y_test, decided)),
        "auc": float(roc_auc_score(y_test, score(X_test))),
        "prior": prior,
        "error": None if found is None else abs(float(found) - prior),
        "cpu": time.process_time() - started,
    }


# -- the run ------------------------------------------------------------------------------------


class Cells:
    """Figures by key, in a file that grows."""

    def __init__(self, path):
        self.path, self.known = path, {}
        if path.exists():
            for line in path.read_text().splitlines():
                key, value = json.loads(line)
                self.known[tuple(key)] = value

    def __call__(self, key, measure):
        if key not in self.known:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.known[key] = measure()
            with self.path.open("a") as file:
                file.write(json.dumps([key, self.known[key]]) + "\n")
        return self.known[key]


def keys_of(args, name):
    """Keys of the figures of one set."""
    for part in args.parts:
        if part == "methods":
            for seed in range(args.draws):
                for mechanism in MECHANISMS:
                    yield from ((part, name, mechanism, seed, method) for method in args.methods)
        if part == "test":
            for mechanism in MECHANISMS:
                n = args.random_draws if mechanism == "random" else args.draws
                for seed, known in product(range(n), ("estimated", "known")):
                    yield part, name, mechanism, seed, known
        if part == "coverage":
            yield from ((part, name, "random", seed, "") for seed in range(args.random_draws))


def measure(key, draw):
    part, _, _, seed, what = key
    X, y, _, truth, *_ = draw
    prior = float(truth[y == 0].mean())
    if part == "methods":
        try:
            return measured(what, *draw)
        except ImportError:
            return None
    if part == "test":
        given = prior if what == "known" else "estimate"
        return labelled_at_random_test(
            X, y, prior=given, n_draws=99, random_state=seed
        )._asdict() | {"true_prior": prior}
    found = estimate_prior(X, y, random_state=seed, n_jobs=1)
    return {"prior": prior, "estimate": found.prior, "low": found.low, "high": found.high}


def run(args, cells, folder):
    for name in args.sets:
        kept = {}
        for key in keys_of(args, name):
            if key in cells.known:
                continue
            seed, mechanism = key[3], key[2]
            if seed % args.draws not in kept:
                kept[seed % args.draws] = loaded(folder, name, seed % args.draws)
            draw = drawn(kept[seed % args.draws], mechanism, seed)
            cells(key, lambda key=key, draw=draw: measure(key, draw))
        print(name, f"{time.process_time():.0f} s", flush=True)


# -- tables -------------------------------------------------------------------------------------

HALVES = (("to choose on", CHOSEN_ON), ("to report on", SHOWN_ON))
PAIRS = (
    ("PUSVM, prior estimated", "PUSVM", "PUSVM, true propensities"),
    ("PUSVM, prior known", "PUSVM, true prior", "PUSVM, true propensities and prior"),
    ("PUEnsemble, prior estimated", "PUEnsemble", "PUEnsemble, true propensities"),
)


def values_of(cells, method, mechanism, figure):
    """Figures by set and draw."""
    return {
        key[1:4]: value[figure]
        for key, value in cells.known.items()
        if key[0] == "methods" and key[4] == method and key[2] == mechanism
        and value is not None and value[figure] is not None
    }  # fmt: skip


def by_set(values):
    """Means over draws, by set."""
    sets = [name for name in SETS if any(key[0] == name for key in values)]
    return {n: float(np.mean([v for key, v in values.items() if key[0] == n])) for n in sets}


def cell_of(cells, method, mechanism, figures, sets):
    """Means over sets of means over draws."""
    found = [by_set(values_of(cells, method, mechanism, figure)) for figure in figures]
    if not sets or not all(sets <= set(values) for values in found):
        return None
    return "/".join(f"{np.mean([values[name] for name in sets]):.3f}" for values in found)


def sets_of(cells, methods, mechanism):
    """Sets of which all methods have figures that can have any."""
    found = [by_set(values_of(cells, method, mechanism, "accuracy")) for method in methods]
    found = [set(values) for values in found if values]
    return set.intersection(*found) if found else set()


def draws_of(cells, method):
    """The fewest draws of a set and mechanism."""
    keys = [k[:2] for x in MECHANISMS for k in values_of(cells, method, x, "accuracy")]
    return min((keys.count(key) for key in set(keys)), default=0)


def change_of(cells, plain, weighted, mechanism, sets):
    """Changes of accuracy by set, means over draws."""
    before, after = (
        values_of(cells, method, mechanism, "accuracy") for method in (plain, weighted)
    )
    changes = by_set({key: after[key] - before[key] for key in after if key in before})
    return {name: change for name, change in changes.items() if name in sets}


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


def change_table(cells, about):
    rows = []
    for title, *pair in PAIRS:
        found = [change_of(cells, *pair, x, SETS) for x in MECHANISMS[1:-1]]
        halves = HALVES if title == PAIRS[0][0] else ()  # the page has little room
        for half, sets in (*halves, ("together", SETS)):
            some = [{name: c for name, c in changes.items() if name in sets} for changes in found]
            rows.append([f"{title}, {len(some[0])} {half}", *map(mean_and_interval, some)])
        rows += [["lowest of these", *map(lowest, found)]] if halves else []
    rows = [row for row in rows if any(cell is not None for cell in row[1:])]
    if rows:
        n_draws = min(draws_of(cells, method) for _, *pair in PAIRS for method in pair)
        yield entry(
            "selection-bias-change", MECHANISMS[1:-1], rows, **about,
            note=f"mean over sets and its 95 % interval, {n_draws} draws per set",
            unit="change of accuracy on test rows by true propensities",
        )  # fmt: skip


def method_tables(cells, about):
    methods = [m for m in ALL if any(k[0] == "methods" and k[4] == m for k in cells.known)]
    # Others are given the prior, or share an estimate.
    estimating = [m for m in methods if not any(w in m for w in ("prior", "bias", "Ensemble"))]
    n_draws = {method: draws_of(cells, method) for method in methods}
    note = "means over sets"
    for number in sorted(set(n_draws.values())):
        named = ", ".join(method for method in methods if n_draws[method] == number)
        note += f"; {number} draw{'s' * (number > 1)} per set: {named}"
    for name, unit, figures, shown in (
        ("selection-bias-thresholds", "accuracy/F1 on test rows", ("accuracy", "f1"), methods),
        ("selection-bias-rankings", "ROC AUC on test rows", ("auc",), methods),
        ("selection-bias-priors", "mean absolute error of the prior", ("error",), estimating),
    ):
        columns = [(x, sets_of(cells, methods, x)) for x in MECHANISMS]
        rows = [[m, *(cell_of(cells, m, x, figures, of) for x, of in columns)] for m in shown]
        rows = [row for row in rows if any(cell is not None for cell in row[1:])]
        if rows:
            rows += [["sets", *(str(len(of)) for _, of in columns)]] * (len(figures) == 2)
            yield entry(name, MECHANISMS, rows, unit=unit, note=note, **about)


def test_table(cells, about):
    rows = []
    for half, sets in HALVES:
        for what in ("estimated", "known"):
            line = [f"sets {half}, prior {what}"]
            for mechanism in MECHANISMS:
                values = [
                    max(v["p_scores"], v["p_features"]) <= v["level"]
                    for k, v in cells.known.items()
                    if k[0] == "test" and k[1] in sets and k[2] == mechanism and k[4] == what
                ]  # fmt: skip
                line.append(f"{sum(values)}/{len(values)}" if values else None)
            if any(cell is not None for cell in line[1:]):
                rows.append(line)
    if rows:
        yield entry("selection-bias-test", MECHANISMS, rows, unit="tests that reject at 5 %",
                    note="random: level; others: power", **about | {"label": "sets"})  # fmt: skip


def coverage_table(cells, about):
    found = {name: [] for name in [*CHOSEN_ON, *SHOWN_ON]}
    for key, v in cells.known.items():
        if key[0] == "coverage":
            found[key[1]].append((v["low"] <= v["prior"] <= v["high"], v["high"] - v["low"]))
    found = {name: values for name, values in found.items() if values}
    if not found:
        return
    lowest = min(found, key=lambda name: np.mean(found[name], axis=0)[0])
    together = [
        (f"sets {half}", [value for name in sets for value in found.get(name, ())])
        for half, sets in HALVES
    ]
    together.append(("together", [value for values in found.values() for value in values]))
    rows = [
        [name, len(values), *map(float, np.mean(values, axis=0))]
        for name, values in [*together, (f"{lowest} (lowest)", found[lowest])]
        if values
    ]
    yield entry(
        "selection-bias-coverage", ["intervals", "contain the truth", "mean width"], rows,
        formats=[",", ".1%", ".3f"], unit="share of 90 % intervals under random labels",
        **about | {"label": "sets"},
    )  # fmt: skip


def entries(cells, program):
    info = machine()
    hardware = f"{info['cores']} cores, {info['processor']}"
    about = {"program": program, "hardware": hardware, "label": "method"}
    tables = (method_tables, change_table, test_table, coverage_table)
    return [found for table in tables for found in table(cells, about)]


def main():
    parser = options(__doc__)
    parser.add_argument("--parts", nargs="*", default=PARTS, choices=PARTS)
    parser.add_argument("--methods", nargs="*", default=list(ALL), choices=list(ALL))
    parser.add_argument("--sets", nargs="*", default=SETS, choices=SETS)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--random-draws", type=int, default=8)
    parser.add_argument("--report-only", action="store_true")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    cells = Cells(Path(args.out) / "selection-bias.jsonl")
    if not args.report_only:
        run(args, cells, data_folder(args))
    found = entries(cells, "python benchmarks selection_bias")
    path = Path(args.out) / "selection-bias.json"
    path.write_text(json.dumps({"entries": found}, indent=1))
    print(f"wrote {path}; 'python benchmarks/results.py add {path}' keeps it")


if __name__ == "__main__":
    main()
