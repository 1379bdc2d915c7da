"""False-alarm rates: what share of new normal rows is rejected when 1, 5 or 10 % are asked for.

    python benchmarks/error_rates.py --data FOLDER

Protocol
  ADBench sets, normal rows only. In every draw a random half of them is for training (2000 rows
  at most) and the rest for testing (5000 at most); columns standardised by the training rows. Ours
  (SVDD with squared slack, C = 0.1; OneClassSVM with nu = 0.1) have gamma = 4 times "scale",
  which ranks better than "scale" on most of these sets; scikit-learn's OneClassSVM has its default
  and that gamma, everything else is at its defaults. The rate asked for is target_fpr of ours
  (leave-one-out and split), nu of scikit-learn, contamination of PyOD. The share of anomalies
  found is given beside.

  Rates are over all draws of a set; intervals are those of Clopper and Pearson, 95 %, over the
  test rows of all draws. They know nothing of the chance in the training rows, by which the
  rate of one machine differs from target_fpr too.
"""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
from common import (
    COLOURS,
    data_folder,
    figure,
    load_set,
    machine,
    machine_line,
    markdown_table,
    options,
    save_figure,
    standardised,
    write_json,
    write_text,
)
from scipy.stats import beta

SETS = [
    "wine", "wbc", "wdbc", "breastw", "vowels", "letter", "cardio", "musk", "waveform", "spambase",
    "pageblocks", "landsat", "satellite", "annthyroid", "magic_gamma", "shuttle", "http",
]  # fmt: skip
RATES = [0.01, 0.05, 0.1]
_MOST_TRAINING, _MOST_TEST, _ANOMALIES = 2000, 5000, 2000


# -- methods: (rate, gamma, seed) to something with fit, and rejects(model, rows) ------------


def svdd(calibration):
    def make(rate, gamma, seed):
        from fewlabels import SVDD

        return SVDD(
            C=0.1, gamma=gamma, target_fpr=rate, calibration=calibration, random_state=seed
        )

    return make


def one_class(calibration):
    def make(rate, gamma, seed):
        from fewlabels import OneClassSVM

        return OneClassSVM(
            nu=0.1, gamma=gamma, target_fpr=rate, calibration=calibration, random_state=seed
        )

    return make


def scikit_learn(rate, gamma, seed):
    from sklearn.svm import OneClassSVM

    return OneClassSVM(nu=rate)


def scikit_learn_narrow(rate, gamma, seed):
    from sklearn.svm import OneClassSVM

    return OneClassSVM(nu=rate, gamma=gamma)


def pyod_ocsvm(rate, gamma, seed):
    from pyod.models.ocsvm import OCSVM

    return OCSVM(contamination=rate)


def pyod_knn(rate, gamma, seed):
    from pyod.models.knn import KNN

    return KNN(contamination=rate)


def pyod_forest(rate, gamma, seed):
    from pyod.models.iforest import IForest

    return IForest(contamination=rate, random_state=seed)


METHODS = {
    "SVDD, leave-one-out": svdd("leave-one-out"),
    "SVDD, split": svdd("split"),
    "OneClassSVM, leave-one-out": one_class("leave-one-out"),
    "OneClassSVM, split": one_class("split"),
    "scikit-learn OneClassSVM, nu": scikit_learn,
    "the same, gamma as ours": scikit_learn_narrow,
    "PyOD OCSVM, contamination": pyod_ocsvm,
    "PyOD KNN, contamination": pyod_knn,
    "PyOD IForest, contamination": pyod_forest,
}


def rejected(model, X):
    """Mask of the rows that a model calls odd: PyOD says 1, the others -1."""
    answer = model.predict(X)
    return answer == 1 if type(model).__module__.startswith("pyod") else answer == -1


# -- measuring -------------------------------------------------------------------------------


def draw(folder, name, seed, most_training):
    """Training rows, new normal rows and anomalies of one draw, and gamma."""
    X, y = load_set(folder, f"adbench_{name}")
    rng = np.random.default_rng(seed)
    normal, odd = rng.permutation(np.flatnonzero(y == 0)), rng.permutation(np.flatnonzero(y == 1))
    n = min(len(normal) // 2, most_training)
    train, new, odd = standardised(
        X[normal[:n]], X[normal[n : n + _MOST_TEST]], X[odd[:_ANOMALIES]]
    )
    return train, new, odd, 4.0 / (train.shape[1] * train.var())


def measure(folder, names, draws, most_training, methods, path, results):
    """Counts of every set, method and rate, written as they come."""
    done = {(r["set"], r["method"], r["rate"]) for r in results}
    for name in names:
        for method, make in methods.items():
            for rate in RATES:
                if (name, method, rate) in done:
                    continue
                counts = np.zeros(4, int)
                for seed in range(draws):
                    train, new, odd, gamma = draw(folder, name, seed, most_training)
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")  # too few rows to reject any
                        model = make(rate, gamma, seed).fit(train)
                        counts += [
                            rejected(model, new).sum(), len(new),
                            rejected(model, odd).sum(), len(odd),
                        ]  # fmt: skip
                results.append(
                    {"set": name, "method": method, "rate": rate, "training": len(train),
                     "rejected": counts[0], "new": counts[1],
                     "found": counts[2], "anomalies": counts[3]}
                )  # fmt: skip
                write_json(path, {"machine": machine(), "results": results})
        print(f"{name} done", flush=True)
    return results


def interval(k, n):
    """Clopper and Pearson's 95 % interval of a share."""
    low = 0.0 if k == 0 else float(beta(k, n - k + 1).ppf(0.025))
    high = 1.0 if k == n else float(beta(k + 1, n - k).ppf(0.975))
    return low, high


# -- report ------------------------------------------------------------------------------------


def percent(value):
    return f"{100 * value:.2g} %" if value < 0.0995 else f"{100 * value:.0f} %"


def summary(results):
    """A line per method: over sets, mean and worst rate, and on how many the interval is above."""
    lines = []
    for method in METHODS:
        line = [method]
        for rate in RATES:
            of = [r for r in results if r["method"] == method and r["rate"] == rate]
            if not of:
                line.append("-")
                continue
            shares = [r["rejected"] / r["new"] for r in of]
            above = sum(interval(r["rejected"], r["new"])[0] > rate for r in of)
            found = np.mean([r["found"] / r["anomalies"] for r in of])
            line.append(
                f"{percent(np.mean(shares))} (worst {percent(max(shares))}; above: {above} of "
                f"{len(of)}; finds {percent(found)})"
            )
        lines.append(line)
    return markdown_table(["method", *(f"asked for {rate:.0%}" for rate in RATES)], lines)


def by_set(results, rate):
    names = [name for name in SETS if any(r["set"] == name for r in results)]
    methods = [m for m in METHODS if any(r["method"] == m for r in results)]
    lines = []
    for name in names:
        of = {r["method"]: r for r in results if r["set"] == name and r["rate"] == rate}
        line = [f"{name} ({next(iter(of.values()))['training']})"]
        for method in methods:
            r = of.get(method)
            if r is None:
                line.append("-")
                continue
            low, high = interval(r["rejected"], r["new"])
            line.append(
                f"{100 * r['rejected'] / r['new']:.1f} [{100 * low:.1f}, {100 * high:.1f}]"
            )
        lines.append(line)
    return markdown_table(["set (training rows)", *methods], lines)


def report(out, stem, data):
    results = data["results"]
    parts = [
        "# False-alarm rates on new normal rows",
        machine_line(data["machine"]),
        "Means over sets; *above*: sets whose whole 95 % interval is above the rate asked for; "
        "*finds*: share of the anomalies rejected.",
        summary(results),
    ]
    for rate in RATES:
        parts += [
            f"## Asked for {rate:.0%}",
            "Per cent, with 95 % intervals.",
            by_set(results, rate),
        ]
    write_text(out / f"{stem}.md", "\n\n".join(parts) + "\n")
    picture(out / f"{stem}.png", results)
    print(f"\n{summary(results)}\n\nwritten to {out / stem}.md")


def picture(path, results):
    methods = [m for m in METHODS if any(r["method"] == m for r in results)]
    fig, axes = figure(1, len(RATES), figsize=(4.2 * len(RATES), 0.45 * len(methods) + 1.6),
                       sharey=True)  # fmt: skip
    for axis, rate in zip(np.atleast_1d(axes), RATES, strict=True):
        for row, method in enumerate(methods):
            ours = method.startswith(("SVDD", "OneClassSVM"))
            of = [r for r in results if r["method"] == method and r["rate"] == rate]
            for k, r in enumerate(of):
                place = row + 0.6 * (k / max(1, len(of) - 1) - 0.5)
                low, high = interval(r["rejected"], r["new"])
                colour = COLOURS[0] if ours else COLOURS[1]
                axis.plot([max(low, 1e-4), high], [place, place], color=colour, linewidth=0.8)
                share = max(r["rejected"] / r["new"], 1e-4)
                axis.plot(share, place, ".", color=colour, markersize=4)
        axis.axvline(rate, color="black", linewidth=1)
        axis.set_xscale("log")
        axis.set_xlim(8e-5, 1.1)
        axis.set_xlabel("share of new normal rows rejected")
        axis.set_title(f"asked for {rate:.0%}")
    axes[0].set_yticks(range(len(methods)), methods)
    axes[0].invert_yaxis()
    save_figure(fig, path)


def main():
    parser = options(__doc__)
    parser.add_argument("--sets", nargs="+", choices=SETS, help="only these sets")
    parser.add_argument("--draws", type=int, default=5, help="draws of a set (default 5)")
    parser.add_argument("--resume", action="store_true", help="keep what was measured already")
    parser.add_argument("--report-only", action="store_true", help="draw table and picture again")
    args = parser.parse_args()
    stem = "error-rates-quick" if args.quick else "error-rates"
    path = args.out / f"{stem}.json"
    if args.report_only:
        report(args.out, stem, json.loads(path.read_text(encoding="utf-8")))
        return
    names = args.sets or (["wine", "wdbc", "cardio"] if args.quick else SETS)
    folder = data_folder(args, [f"adbench_{name}" for name in names])
    methods = dict(METHODS)
    try:
        import pyod  # noqa: F401
    except ImportError:
        print("PyOD is not installed, so it is left out.", file=sys.stderr)
        methods = {m: make for m, make in METHODS.items() if not m.startswith("PyOD")}
    results = []
    if args.resume and path.is_file():
        results = json.loads(path.read_text(encoding="utf-8"))["results"]
    size, draws = (300, 1) if args.quick else (_MOST_TRAINING, args.draws)
    results = measure(folder, names, draws, size, methods, path, results)
    report(args.out, stem, {"machine": machine(), "results": results})


if __name__ == "__main__":
    main()
