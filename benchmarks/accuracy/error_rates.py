"""Error rates: what is rejected and reported, beside what was asked for.

Protocol
  ADBench sets. In every draw a random half of the normal rows is for training (1000 rows at
  most), the rest for testing (3000 at most, 1000 anomalies at most); columns standardised by the
  training rows. A second time the half is one of all rows, anomalies among them. Asked for are
  1, 5 and 10 % of the normal rows: target_fpr of ours (SVDD with squared slack, C = 0.1;
  OneClassSVM with nu = 0.1; gamma = neighbor_gamma of the training rows), nu or contamination of
  the others, at their defaults otherwise. Ours and those with a contamination are fitted once
  per draw: their threshold for a rate is a share of p-values or of training scores (PyOD's and
  scikit-learn's definition), the machine is the same.

  False discoveries: nine new normal rows on every anomaly (100 of these at most), selected by
  Benjamini and Hochberg's procedure from p-values, at 5, 10 and 20 %.

Intervals
  A draw's interval is that of Clopper and Pearson, 95 %. It "holds" where it contains the rate
  asked for. It does so less often than 95 % however good a method is, as a threshold from n rows
  has a rate of its own: "in theory" is how often it would for the k-th lowest of n new scores
  (beta-binomial). Intervals of a set are those of the mean over draws, with as many trials as
  there are different normal rows.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.stats import beta, betabinom
from shared.common import (
    ADBENCH,
    COLOURS,
    figure,
    load_set,
    markdown_table,
    save_figure,
    standardised,
)
from study import Case, Setting, Study

RATES, DISCOVERIES = [0.01, 0.05, 0.1], [0.05, 0.1, 0.2]
_MOST_TRAINING, _MOST_TEST, _MOST_ANOMALIES = 1000, 3000, 1000
# Sets with so many training rows count where a rate is judged: one rejected row is expected.
_JUDGED = 1.0
_REPORTED_ANOMALIES, _NORMAL_PER_ANOMALY = 100, 9
CLEAN, MIXED = "normal rows", "contaminated rows"


# -- methods: (training rows, test rows, gamma, seed) to a mask of the rejected per rate ---------


def _svdd(gamma, seed, calibration):
    from fewlabels import SVDD

    return SVDD(C=0.1, gamma=gamma, target_fpr=0.05, calibration=calibration, random_state=seed)


def _one_class(gamma, seed, calibration):
    from fewlabels import OneClassSVM

    return OneClassSVM(
        nu=0.1, gamma=gamma, target_fpr=0.05, calibration=calibration, random_state=seed
    )


def ours(make, calibration):
    def answers(train, test, gamma, seed):
        p = make(gamma, seed, calibration).fit(train).p_values(test)
        return {rate: p <= rate for rate in RATES}, p

    return answers


def scikit_learn(narrow):
    def answers(train, test, gamma, seed):
        from sklearn.svm import OneClassSVM

        width = gamma if narrow else "scale"
        models = {rate: OneClassSVM(nu=rate, gamma=width).fit(train) for rate in RATES}
        return {rate: model.predict(test) < 0 for rate, model in models.items()}, None

    return answers


def forest(train, test, gamma, seed):
    from sklearn.ensemble import IsolationForest

    model = IsolationForest(random_state=seed).fit(train)
    return _by_training_scores(-model.score_samples(train), -model.score_samples(test)), None


def pyod(name):
    def answers(train, test, gamma, seed):
        from importlib import import_module

        model = getattr(import_module(f"pyod.models.{name.lower()}"), name)().fit(train)
        return _by_training_scores(model.decision_scores_, model.decision_function(test)), None

    return answers


def _by_training_scores(training, new):
    return {rate: new > np.percentile(training, 100 * (1 - rate)) for rate in RATES}


METHODS = {
    "SVDD, leave-one-out": ours(_svdd, "leave-one-out"),
    "SVDD, split": ours(_svdd, "split"),
    "OneClassSVM, leave-one-out": ours(_one_class, "leave-one-out"),
    "OneClassSVM, split": ours(_one_class, "split"),
    "scikit-learn OneClassSVM, nu": scikit_learn(narrow=False),
    "the same, our gamma": scikit_learn(narrow=True),
    "scikit-learn IsolationForest": forest,
    "PyOD OCSVM": pyod("OCSVM"),
    "PyOD KNN": pyod("KNN"),
}


def is_ours(method):
    return method.startswith(("SVDD", "OneClassSVM"))


# -- measuring -------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def draw(folder, name, seed, most_training, trained_on):
    """Training rows, new normal rows and anomalies of one draw, gamma, number of normal rows."""
    from fewlabels.model_selection import neighbor_gamma

    X, y = load_set(folder, f"adbench_{name}")
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    if trained_on == CLEAN:
        normal, odd = order[y[order] == 0], order[y[order] == 1]
        n = min(len(normal) // 2, most_training)
        train, new = normal[:n], normal[n:]
    else:
        n = min(len(y) // 2, most_training)
        train, rest = order[:n], order[n:]
        new, odd = rest[y[rest] == 0], rest[y[rest] == 1]
    rows = standardised(X[train], X[new[:_MOST_TEST]], X[odd[:_MOST_ANOMALIES]])
    return *rows, neighbor_gamma(rows[0]), int(np.sum(y == 0))


def discoveries(p, n_new, n_odd):
    """False discovery proportion and share found at every rate asked for, and row counts."""
    from fewlabels.metrics import benjamini_hochberg

    a = min(_REPORTED_ANOMALIES, n_odd, n_new // _NORMAL_PER_ANOMALY)
    p = np.concatenate([p[: _NORMAL_PER_ANOMALY * a], p[n_new : n_new + a]])
    records = []
    for q in DISCOVERIES:
        reported = np.flatnonzero(benjamini_hochberg(p, q=q))
        false = int(np.sum(reported < _NORMAL_PER_ANOMALY * a))
        records.append({"asked": q, "reported": len(reported), "false": false, "anomalies": a})
    return records


def measure(folder, name, trained_on, seed, method, most_training):
    """Rows rejected and found of a draw."""
    train, new, odd, gamma, n_normal = draw(folder, name, seed, most_training, trained_on)
    masks, p = METHODS[method](train, np.concatenate([new, odd]), gamma, seed)
    found = {
        "training": len(train), "new": len(new), "anomalies": len(odd), "n_normal": n_normal,
        "rejected": [int(masks[r][: len(new)].sum()) for r in RATES],
        "found": [int(masks[r][len(new) :].sum()) for r in RATES],
    }  # fmt: skip
    if p is not None and trained_on == CLEAN:
        found["discoveries"] = discoveries(p, len(new), len(odd))
    return found


def cases(options):
    most = 300 if options.quick else _MOST_TRAINING
    for name in options.sets:
        for trained_on in (CLEAN, MIXED):
            for seed in range(options.draws):
                for method in METHODS:
                    key = {"set": name, "trained_on": trained_on, "seed": seed, "method": method}
                    yield Case(key, measure, (options.data, *key.values(), most))


# -- intervals -------------------------------------------------------------------------------


def interval(k, n):
    """Clopper and Pearson's 95 % interval of a share; ``k`` need not be whole."""
    low = 0.0 if k <= 0 else float(beta(k, n - k + 1).ppf(0.025))
    high = 1.0 if k >= n else float(beta(k + 1, n - k).ppf(0.975))
    return low, high


def holds(k, n, rate):
    """Whether the interval contains the rate (0), or lies below (-1) or above it (1)."""
    low, high = interval(k, n)
    return 1 if low > rate else -1 if high < rate else 0


def in_theory(n, m, rate):
    """How often a threshold from n rows has an interval, from m rows, that holds."""
    k = int(rate * (n + 1) * (1 + 1e-12))
    if not k:
        return float(holds(0, m, rate) == 0)
    counts = np.arange(m + 1)
    kept = [holds(int(r), m, rate) == 0 for r in counts if r < 4 * rate * m + 30]
    return float(betabinom(m, k, n + 1 - k).pmf(counts[: len(kept)])[np.array(kept)].sum())


# -- report ------------------------------------------------------------------------------------


def percent(value):
    return f"{100 * value:.2g} %" if value < 0.0995 else f"{100 * value:.0f} %"


def chosen(results, method, trained_on):
    return [r for r in results if r["method"] == method and r["trained_on"] == trained_on]


def by_sets(records, place):
    """Mean rate over the draws of every set that has rows enough to be judged."""
    rates = {}
    for r in records:
        if RATES[place] * (r["training"] + 1) >= _JUDGED:
            rates.setdefault(r["set"], []).append(r["rejected"][place] / r["new"])
    return {name: float(np.mean(v)) for name, v in rates.items()}


def found_share(records, place, sets):
    return percent(
        np.mean([r["found"][place] / r["anomalies"] for r in records if r["set"] in sets])
    )


def summary(results):
    """Per method and rate: mean over sets, lowest and highest set, how often intervals hold."""
    lines = []
    for method in methods_in(results):
        line, records = [method], chosen(results, method, CLEAN)
        for place, rate in enumerate(RATES):
            of = by_sets(records, place)
            sides = [
                holds(r["rejected"][place], r["new"], rate) for r in records if r["set"] in of
            ]
            mean, *ends = (f(list(of.values())) for f in (np.mean, min, max))
            line.append(f"{percent(mean)} ({100 * ends[0]:.2g} to {100 * ends[1]:.2g})")
            line.append(f"{np.mean(np.equal(sides, 0)):.0%}, {np.mean(np.equal(sides, 1)):.0%}")
        lines.append([*line, found_share(records, 1, by_sets(records, 1))])
    line = ["*in theory*"]
    sizes = {r["set"]: (r["training"], r["new"]) for r in chosen(results, lines[0][0], CLEAN)}
    for rate in RATES:
        shares = [in_theory(n, m, rate) for n, m in sizes.values() if rate * (n + 1) >= _JUDGED]
        line += [None, f"{np.mean(shares):.0%}"]
    return [*lines, [*line, None]]


def methods_in(results):
    there = {r["method"] for r in results}
    return [m for m in METHODS if m in there]


def contaminated(results):
    """The same with anomalies among the training rows: mean and highest set, and finds."""
    lines = []
    for method in methods_in(results):
        records = chosen(results, method, MIXED)
        of = [by_sets(records, place) for place in range(len(RATES))]
        cells = [
            f"{percent(np.mean(list(one.values())))} (to {100 * max(one.values()):.2g})"
            for one in of
        ]
        lines.append([method, *cells, found_share(records, 1, of[1])])
    return lines


def by_set(results, place):
    """Mean rate over draws with its interval, per set and method."""
    lines = []
    for name in ADBENCH:
        of = [r for r in results if r["set"] == name and r["trained_on"] == CLEAN]
        if not of:
            continue
        line = [f"{name} ({of[0]['training']})"]
        for method in methods_in(results):
            records = [r for r in of if r["method"] == method]
            share = float(np.mean([r["rejected"][place] / r["new"] for r in records]))
            n = min(sum(r["new"] for r in records), of[0]["n_normal"])
            low, high = interval(share * n, n)
            line.append(f"{100 * share:.1f} [{100 * low:.1f}, {100 * high:.1f}]")
        lines.append(line)
    return markdown_table(["set (training rows)", *methods_in(results)], lines)


def enough_to_report(record, d):
    """Whether the smallest p-value lets all anomalies be reported at the rate asked for."""
    n = record["training"] // (2 if "split" in record["method"] else 1)
    return (n + 1) * d["asked"] >= 1 + _NORMAL_PER_ANOMALY


def discovery_rates(results, method):
    """Per rate asked for and set: mean false discovery proportion and mean share found."""
    rates = {}
    for r in chosen(results, method, CLEAN):
        for d in r.get("discoveries", ()):
            if enough_to_report(r, d):
                one = (d["false"] / max(1, d["reported"]),
                       (d["reported"] - d["false"]) / d["anomalies"])  # fmt: skip
                rates.setdefault(d["asked"], {}).setdefault(r["set"], []).append(one)
    return {q: {s: np.mean(v, axis=0) for s, v in of.items()} for q, of in rates.items()}


def discovery_table(results):
    lines = []
    for method in filter(is_ours, methods_in(results)):
        line, rates = [method], discovery_rates(results, method)
        for q in DISCOVERIES:
            of = np.array(list(rates.get(q, {}).values()))
            if len(of):
                line += [f"{percent(of[:, 0].mean())} ({100 * of[:, 0].min():.2g} to "
                         f"{100 * of[:, 0].max():.2g}; {len(of)} sets)",
                         percent(of[:, 1].mean())]  # fmt: skip
            else:
                line += [None, None]
        lines.append(line)
    return lines


UNIT = "share of new normal rows rejected"
TABLES = (
    ("error-rates", "trained on normal rows", UNIT, summary,
     ["1 %", "holds, above", "5 %", "holds, above", "10 %", "holds, above",
      "anomalies found at 5 %"]),
    ("error-rates-contaminated", "trained on contaminated rows", UNIT, contaminated,
     ["1 % (highest set)", "5 %", "10 %", "anomalies found at 5 %"]),
    ("false-discoveries", "method", "share of normal rows among those reported", discovery_table,
     ["5 % asked for", "found", "10 %", "found", "20 %", "found"]),
)  # fmt: skip


def report(results):
    records = results.records
    for _, label, unit, table, columns in TABLES:
        yield f"{unit}:"
        yield markdown_table([label, *columns], table(records))
    for place, rate in enumerate(RATES):
        yield f"## Asked for {rate:.0%}"
        yield "Per cent, mean over draws, with 95 % intervals."
        yield by_set(records, place)
    picture(results.picture(), records)


def entries(results):
    return [
        results.entry(name, columns, table(results.records), label=label, unit=unit)
        for name, label, unit, table, columns in TABLES
    ]


def picture(path, results):
    methods = methods_in(results)
    fig, axes = figure(1, len(RATES) + 1, figsize=(15, 0.42 * len(methods) + 1.5),
                       width_ratios=[1, 1, 1, 0.9])  # fmt: skip
    for place, (axis, rate) in enumerate(zip(axes, RATES, strict=False)):
        for row, method in enumerate(methods):
            of = sorted(by_sets(chosen(results, method, CLEAN), place).values())
            colour = COLOURS[0] if is_ours(method) else COLOURS[1]
            height = row + np.linspace(-0.3, 0.3, len(of))
            axis.plot(np.maximum(of, 1e-3), height, ".", color=colour, markersize=5)
            axis.plot([np.mean(of)] * 2, [row - 0.4, row + 0.4], color=colour, linewidth=1.5)
        axis.axvline(rate, color="black", linewidth=1)
        axis.set_xscale("log")
        axis.set_xlim(8e-4, 1.1)
        axis.set_xticks([0.001, 0.01, 0.1, 1], ["0.1 %", "1 %", "10 %", "100 %"])
        axis.set_ylim(len(methods) - 0.4, -0.6)
        axis.set_yticks(range(len(methods)), methods if not place else [""] * len(methods))
        axis.set_xlabel("new normal rows rejected")
        axis.set_title(f"asked for {rate:.0%}")
    discovery_picture(axes[-1], results)
    save_figure(fig, path)


def discovery_picture(axis, results):
    shown = [m for m in methods_in(results) if m.startswith("SVDD")]
    for k, method in enumerate(shown):
        rates = discovery_rates(results, method)
        for q, of in rates.items():
            shares = np.array(list(of.values()))[:, 0]
            place = q + 0.008 * (k - 0.5) * 2 + np.linspace(-0.003, 0.003, len(shares))
            axis.plot(place, shares, ".", color=COLOURS[2 * k], markersize=5,
                      label=method if q == DISCOVERIES[-1] else None)  # fmt: skip
    axis.plot([0, 0.25], [0, 0.25], color="black", linewidth=1)
    axis.set_xticks(DISCOVERIES, [f"{q:.0%}" for q in DISCOVERIES])
    axis.set_yticks([0, 0.1, 0.2, 0.3], ["0", "10 %", "20 %", "30 %"])
    axis.set_xlabel("false discoveries asked for")
    axis.set_ylabel("false discoveries")
    axis.set_title("lists of anomalies")
    axis.legend(loc="upper left", fontsize=8)


def files(options):
    return [f"adbench_{name}" for name in options.sets]


STUDY = Study(
    __doc__, cases, report, entries, data="required", files=files, choices={"sets": ADBENCH},
    settings={"draws": Setting(8, "draws of a set")},
    quick={"sets": ["wdbc", "cardio"], "draws": 2},
)  # fmt: skip
