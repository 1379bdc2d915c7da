"""PU learning at scale: a synthetic family beside the peers, general QP solvers, a million rows.

    python benchmarks pu_family [--data FOLDER]

Parts (--parts chooses)
  family  Six Gaussian clusters in 20 dimensions, three per class, centres N(0, 0.8^2), deviation
          1.2; a tenth of the n rows are labelled positives, the rest unlabelled with prior 0.4;
          10 000 test rows. Every method is told the prior and gamma = 1/40. Ours has the full
          kernel, tol = 1e-3, lambda = 1e-3 and 1e-2. Squared loss and double hinge of
          pu-toolbox and pywsl have 200 centres and lambda = 1e-3 (their regularisers are not
          ours); bagged SVCs are 15; nothing else is set.
  qp      The same family with n_U = 1000, 2000, 4000: problem (6) on the full kernel matrix by
          every general solver that qpsolvers finds, against ours on the same problem. Seconds of
          a QP solver include the kernel matrix. The regularised risk (4) of each solution is
          computed here by one function in plain NumPy, at the best bias for its coefficients,
          and compared with the smallest found. The best general QP is the fastest within 1e-4.
  large   MNIST, digit 3 against the rest: 100 labelled positives from the test part, all 60 000
          training rows unlabelled, tested on the other test rows; pixels in [0, 1], Gaussian
          kernel with gamma = "scale" and 0.5, lambda = 0.01 (needs --data). One million random
          poker hands, "one pair" against the rest, linear kernel, tested on another 100 000.

Protocol
  Every fit runs in a fresh process that warms up with a fit on at most 3000 of the rows. Seconds
  are the fastest of several fits while these fit into two seconds, else of one. "Extra" memory
  is the high-water mark of resident memory during the first fit minus resident memory before it,
  "peak" the mark itself with data and libraries. Accuracy and F1 are those of the method's own
  decisions; "cut" takes the 40 % greatest scores for positive. Every method uses its default
  number of threads. The floor is n_U x n_SV kernel values at our measured time per value.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np
from shared.common import (
    COLOURS,
    ChildFailed,
    data_folder,
    figure,
    in_child,
    machine,
    machine_line,
    markdown_table,
    options,
    plain_ticks,
    save_figure,
    timed,
    write_json,
    write_text,
)
from shared.pu_data import Draw, make_family, read
from shared.pu_measure import certificate, exponent, floor, measure_fit, quality
from shared.pu_methods import METHODS, Task
from speed import general_qp

PARTS = ["family", "qp", "large"]
GAMMA = 1 / 40
LAMBDAS = [1e-3, 1e-2]
OURS = [f"PUSVM, lambda {lam:g}" for lam in LAMBDAS]
PEERS = [name for name, method in METHODS.items() if method.group != "ours"]
SIZES = [2_000, 10_000, 20_000, 50_000]
QP_SIZES = [1_000, 2_000, 4_000]
_WARM_ROWS = 3000
_SAME = 1e-4
_OTHERS = [*COLOURS[1:], "#333333", "#b8860b", "#c44e9a", "#2a9d8f"]


# -- the family --------------------------------------------------------------------------------


def measure_family(n, name, budget):
    """One method at one size; runs in a process of its own."""
    draw = make_family(n)
    truth = np.concatenate([np.ones(draw.n_positive, dtype=bool), draw.truth])
    lam = LAMBDAS[OURS.index(name)] if name in OURS else None
    method = METHODS["PUSVM" if name in OURS else name]

    def fit(rows=slice(None)):
        return method.fit(Task(draw.X[rows], draw.y[rows], draw.prior, GAMMA, truth[rows], 0, lam))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # What compiles is warmed up in the precision that the fit has; others load in no time.
        step = -(-n // (_WARM_ROWS if name in OURS else 300))
        fit(slice(None, None, step))
    learned, figures = measure_fit(fit, budget)
    predict_s, scores = timed(learned.score, draw.X_test)
    figures |= {"n": n, "predict_s": predict_s}
    figures |= quality(scores, learned.decide(draw.X_test), draw.y_test, draw.prior)
    if name in OURS:
        model = learned.model
        at_risk = scores - model.intercept_[0] + model.risk_intercept_
        figures["accuracy_risk"] = float(np.mean((at_risk > 0) == draw.y_test))
        figures |= certificate(model) | floor(model, draw)
    return figures


# -- general QP solvers ------------------------------------------------------------------------


def measure_qp(n_unlabeled, lam, solver):
    """One solver on one problem: seconds, memory, and the primal objective."""
    draw = make_family(n_unlabeled + n_unlabeled // 9)
    n_positive, X = draw.n_positive, draw.X
    if solver == "ours":
        from fewlabels import PUSVM

        def fit():
            return PUSVM(prior=draw.prior, lam=lam, gamma=GAMMA).fit(X, draw.y)

        fit()
        model, figures = measure_fit(fit, budget=2.0)
        s = np.zeros(len(X))
        s[model.support_] = -model.dual_coef_[0]
        s = s[n_positive:]
        figures |= certificate(model)
    else:
        small = make_family(100)
        general_qp.solve(
            general_qp.DoubleHinge(small.X, small.n_positive, small.prior, GAMMA, lam), solver
        )
        s, figures = measure_fit(
            lambda: general_qp.solve(
                general_qp.DoubleHinge(X, n_positive, draw.prior, GAMMA, lam), solver
            ),
            budget=2.0,
        )
    problem = general_qp.DoubleHinge(X, n_positive, draw.prior, GAMMA, lam)
    return figures | {"n_u": len(X) - n_positive, "lam": lam, "primal": problem.primal(s)}


# -- large problems ----------------------------------------------------------------------------


def mnist_draw(folder, digit=3, n_positive=100, n_unlabeled=60_000):
    """100 positives from the test part; the training part is unlabelled."""
    X, y, X_test, y_test = read(folder, "mnist", "X", "y", "X_test", "y_test")
    labelled = np.random.default_rng(0).permutation(np.flatnonzero(y_test == digit))[:n_positive]
    rest = np.setdiff1d(np.arange(len(X_test)), labelled)
    truth = y[:n_unlabeled] == digit
    rows = np.concatenate([X_test[labelled], X[:n_unlabeled]]).astype(np.float32) / 255
    test = X_test[rest].astype(np.float32) / 255
    return Draw(rows, n_positive, truth, test, y_test[rest] == digit, float(truth.mean()))


def poker_draw(n_unlabeled, n_positive=100, n_test=100_000):
    """Hands of one pair against the rest; columns in [0, 1]."""
    from fewlabels.cli.demo.data import make_poker_hands

    X, y = make_poker_hands(n_unlabeled + n_test + 1000, random_state=0)
    X, pair = (X - 1) / np.tile([3.0, 12.0], 5), y == 1
    unlabeled, test, others = np.split(np.arange(len(X)), [n_unlabeled, n_unlabeled + n_test])
    labelled = others[pair[others]][:n_positive]
    return Draw(
        np.concatenate([X[labelled], X[unlabeled]]), n_positive, pair[unlabeled], X[test],
        pair[test], float(pair[unlabeled].mean()),
    )  # fmt: skip


def measure_large(case, folder, quick):
    """One fit of a large problem; runs in a process of its own."""
    from fewlabels import PUSVM

    if case.startswith("mnist"):
        gamma = "scale" if case.endswith("scale") else 0.5
        draw, settings = (
            mnist_draw(folder, n_unlabeled=3_000 if quick else 60_000),
            {"gamma": gamma},
        )
    else:
        draw, settings = poker_draw(20_000 if quick else 1_000_000), {"kernel": "linear"}
    few = slice(0, draw.n_positive + _WARM_ROWS)
    PUSVM(prior=draw.prior, **settings).fit(draw.X[few], draw.y[few])
    model, figures = measure_fit(
        lambda: PUSVM(prior=draw.prior, **settings).fit(draw.X, draw.y), budget=0.0
    )
    scores = model.decision_function(draw.X_test)
    figures |= quality(scores, scores > 0, draw.y_test, draw.prior)
    figures |= certificate(model) | floor(model, draw)
    return figures | {"n_u": len(draw.truth), "d": draw.X.shape[1], "gamma": model.gamma_}


# -- the run -----------------------------------------------------------------------------------


def jobs(args):
    """(part, name of the measurement, function, arguments, seconds allowed) in running order."""
    chosen = []
    sizes = [1_000, 2_000] if args.quick else SIZES
    for n in sizes if "family" in args.parts else []:
        for name in OURS + PEERS:
            chosen.append(("family", f"{name}|{n}", measure_family,
                           (n, name, 0.3 if args.quick else 2.0), args.limit))  # fmt: skip
    for n in ([200, 400] if args.quick else QP_SIZES) if "qp" in args.parts else []:
        for lam in LAMBDAS:
            for solver in ["ours", *general_qp.SOLVERS]:
                chosen.append(("qp", f"{solver}|{n}|{lam:g}", measure_qp, (n, lam, solver),
                               args.limit))  # fmt: skip
    if "large" in args.parts:
        cases = ["poker, linear"]
        if args.data is not None:
            cases += ["mnist, gamma scale", "mnist, gamma 0.5"]
        folder = data_folder(args, ["mnist"]) if args.data is not None else None
        for case in cases:
            chosen.append(("large", case, measure_large, (case, folder, args.quick), args.limit))
    return chosen


def run(args, path):
    """Measure everything; the file is written after each."""
    records = {part: {} for part in PARTS}
    if (args.resume or args.parts != PARTS) and path.exists():
        records |= json.loads(path.read_text())["parts"]
    report = {"machine": machine(), "parts": records}
    for part, name, function, arguments, limit in jobs(args):
        if args.resume and "failed" not in records[part].get(name, {"failed": ""}):
            continue
        if out_of_reach(records[part], name):
            outcome = {"failed": "left out: a smaller problem failed"}
        else:
            try:
                outcome = in_child(function, *arguments, limit=limit)
            except ChildFailed as failure:
                outcome = {"failed": str(failure).strip().splitlines()[-1][:300]}
        records[part][name] = outcome
        print(f"{part:<7} {name:<36} {sentence(outcome)}", flush=True)
        write_json(path, report)
    return report


def out_of_reach(records, name):
    """Whether the same method failed, or nearly, on a smaller problem of the same kind."""
    method, *rest = name.split("|")
    if not rest:
        return False
    return any(
        other.split("|")[0] == method
        and other.split("|")[2:] == rest[1:]
        and int(other.split("|")[1]) < int(rest[0])
        and "failed" in outcome
        for other, outcome in records.items()
    )


def sentence(r):
    if "failed" in r:
        return r["failed"]
    text = f"{r['fit_s']:.4g} s (best of {r['fits']}), +{r['extra_mb']:.0f} MB"
    if "primal" in r:
        text += f", primal {r['primal']:.10g}"
    if "accuracy" in r:
        text += f", accuracy {r['accuracy']:.4f}, F1 {r['f1']:.3f}, AUC {r['auc']:.4f}"
    if "floor_s" in r:
        text += f", {r['fit_s'] / r['floor_s']:.2f} x floor, gap {r['relative_gap']:.1e}"
    return text + "".join(f"\n        {w}" for w in r["warnings"])


# -- the report --------------------------------------------------------------------------------


def promises(parts):
    """What was promised against what was measured."""
    rows = []

    def promise(text, value, kept):
        rows.append([text, value, bool(kept)])

    for n, bound in ((10_000, 0.5), (50_000, 4.0)):
        for name in OURS:
            r = parts["family"].get(f"{name}|{n}", {})
            if "fit_s" in r:
                promise(f"family, n = {n}, {name}: under {bound:g} s", r["fit_s"],
                        r["fit_s"] < bound)  # fmt: skip
    for lam in LAMBDAS:
        found = ratio_to_best_qp(parts["qp"], 4000, lam)
        if found:
            ratio, solver = found
            promise(f"n_U = 4000, lambda {lam:g}: >= 200 x the best general QP ({solver})", ratio,
                    ratio >= 200)  # fmt: skip
    for case, seconds in (("mnist, gamma scale", 60), ("mnist, gamma 0.5", 60),
                          ("poker, linear", 20)):  # fmt: skip
        r = parts["large"].get(case, {})
        if "fit_s" in r and r["n_u"] >= 60_000:
            promise(f"{case}: under {seconds} s", r["fit_s"], r["fit_s"] < seconds)
            promise(f"{case}: peak under 2000 MB", r["peak_mb"], r["peak_mb"] < 2000)
            promise(f"{case}: relative gap at most 1e-3", r["relative_gap"],
                    r["relative_gap"] <= 1e-3)  # fmt: skip
    return rows


def qp_group(records, n, lam):
    """Solver to figures on one problem, and the smallest primal objective of all."""
    found = {name.split("|")[0]: r for name, r in records.items()
             if name.split("|")[1:] == [str(n), f"{lam:g}"]}  # fmt: skip
    values = [r["primal"] for r in found.values() if "primal" in r]
    return found, min(values) if values else None


def ratio_to_best_qp(records, n, lam):
    """Seconds of the fastest accurate general QP over ours, and its name."""
    found, best = qp_group(records, n, lam)
    if "fit_s" not in found.get("ours", {}):
        return None
    seconds = [(r["fit_s"], solver) for solver, r in found.items()
               if solver != "ours" and "primal" in r
               and (r["primal"] - best) <= _SAME * abs(best)]  # fmt: skip
    if not seconds:
        return None
    fastest_qp, solver = min(seconds)
    return fastest_qp / found["ours"]["fit_s"], solver


def family_rows(records):
    rows = []
    for name, r in records.items():
        method, n = name.split("|")
        if "failed" in r:
            rows.append([n, method, r["failed"]] + [None] * 9)
            continue
        ratios = [r["fit_s"] / ours["fit_s"] if method not in OURS and "fit_s" in ours else None
                  for ours in (records.get(f"{o}|{n}", {}) for o in OURS)]  # fmt: skip
        rows.append([n, method, r["fit_s"], *ratios, round(r["extra_mb"]), r["predict_s"],
                     f"{r['accuracy']:.4f}", f"{r['accuracy_cut']:.4f}", f"{r['f1']:.3f}",
                     f"{r['auc']:.4f}",
                     f"{r['accuracy_risk']:.4f}" if "accuracy_risk" in r else None])  # fmt: skip
    return rows


def floor_rows(parts):
    named = [(name.replace("|", ", n = "), r) for part in ("family", "large")
             for name, r in parts[part].items() if "floor_s" in r]  # fmt: skip
    return [
        [name, r["n_sv"], r["rounds"], r["relative_gap"], r.get("ns_per_value"),
         r.get("values_over_floor"), r["floor_s"], r["fit_s"], r["fit_s"] / r["floor_s"]]
        for name, r in named
    ]  # fmt: skip


def qp_rows(records):
    rows = []
    for name, r in records.items():
        solver, n, lam = name.split("|")
        found, best = qp_group(records, n, float(lam))
        if "failed" in r:
            rows.append([n, lam, solver, r["failed"], None, None, None])
            continue
        ours = found.get("ours", {}).get("fit_s")
        ratio = r["fit_s"] / ours if ours and solver != "ours" else None
        difference = (r["primal"] - best) / abs(best)
        rows.append([n, lam, solver, r["fit_s"], ratio, round(r["extra_mb"]), f"{difference:.1e}"])
    return rows


def large_rows(records):
    return [
        [name, None, r["failed"]] + [None] * 8 if "failed" in r else
        [name, r["n_u"], r["fit_s"], round(r["extra_mb"]), round(r["peak_mb"]), r["n_sv"],
         r["relative_gap"], f"{r['accuracy']:.4f}", f"{r['f1']:.3f}", f"{r['auc']:.4f}",
         r["gamma"]]
        for name, r in records.items()
    ]  # fmt: skip


def write_report(report, stem, out):
    parts = report["parts"]
    promised = promises(parts)
    text = [
        "# PU learning at scale",
        machine_line(report["machine"]),
        "```\n" + __doc__.split("\n\n", 2)[2].strip("\n") + "\n```",
    ]
    if promised:
        text += ["## Promises", markdown_table(["promise", "measured", "kept"], promised)]
    pictures = []
    if parts["family"]:
        pictures = [draw_times(parts, out / f"{stem}.png")]
        text += [
            f"![{pictures[0].stem}]({pictures[0].name})",
            "## The family",
            markdown_table(
                ["n", "method", "fit s", *(f"/ {name}" for name in OURS), "extra MB",
                 "predict s", "accuracy", "cut", "F1", "AUC", "at the risk's threshold"],
                family_rows(parts["family"]),
            ),
        ]  # fmt: skip
    if parts["qp"]:
        text += [
            "## General QP solvers on the full kernel",
            "`it / ours`: seconds over ours. Difference: risk over the smallest found.",
            markdown_table(
                ["n_U", "lambda", "solver", "seconds", "it / ours", "extra MB", "difference"],
                qp_rows(parts["qp"]),
            ),
        ]
    if parts["large"]:
        text += [
            "## Large problems",
            markdown_table(
                ["case", "n_U", "fit s", "extra MB", "peak MB", "SVs", "relative gap", "accuracy",
                 "F1", "AUC", "gamma"],
                large_rows(parts["large"]),
            ),
        ]  # fmt: skip
    text += [
        "## Distance from the floor",
        markdown_table(
            ["fit", "SVs", "rounds", "relative gap", "ns / value", "values / floor", "floor s",
             "fit s", "fit / floor"],
            floor_rows(parts),
        ),
    ]  # fmt: skip
    remarks = [f"* {name}: {warning}" for records in parts.values()
               for name, r in records.items() for warning in r.get("warnings", [])]  # fmt: skip
    if remarks:
        text += ["## Warnings given during fits", "\n".join(remarks)]
    lines = ["part,measurement,seconds,extra_mb,peak_mb,accuracy,f1,auc,primal"]
    lines += [
        f'{part},"{name}",'
        + ",".join(
            "" if r.get(key) is None else f"{r[key]:.8g}"
            for key in ("fit_s", "extra_mb", "peak_mb", "accuracy", "f1", "auc", "primal")
        )
        for part, records in parts.items()
        for name, r in records.items()
        if "failed" not in r
    ]
    write_text(out / f"{stem}.csv", "\n".join(lines) + "\n")
    write_text(out / f"{stem}.md", "\n\n".join(text) + "\n")
    print(f"wrote {out / stem}.md, .csv, .json" + "".join(f", {p.name}" for p in pictures))


def draw_times(parts, path):
    """Seconds against rows: the family's methods, and the general QP solvers."""
    fig, axes = figure(1, 2, figsize=(11, 5), sharey=True)
    series = {}
    for name, r in parts["family"].items():
        if "fit_s" in r:
            method, n = name.split("|")
            series.setdefault(method, []).append((int(n), r["fit_s"]))
    plot_series(axes[0], series, OURS)
    axes[0].set(title="the family", xlabel="rows, a tenth of them labelled")
    series = {}
    for name, r in parts["qp"].items():
        if "fit_s" in r and "primal" in r:
            solver, n, lam = name.split("|")
            if float(lam) == LAMBDAS[0]:
                series.setdefault(solver, []).append((int(n), r["fit_s"]))
    plot_series(axes[1], series, ["ours"])
    axes[1].set(title=f"general QP solvers, lambda = {LAMBDAS[0]:g}", xlabel="unlabelled rows")
    axes[0].set_ylabel("seconds to fit")
    for ax, part in zip(axes, ("family", "qp"), strict=True):
        ax.set_xticks(sorted({int(name.split("|")[1]) for name in parts[part]}))
        plain_ticks(ax.xaxis)
        plain_ticks(ax.yaxis)
        ax.legend(frameon=False, fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    save_figure(fig, path)
    return path


def plot_series(ax, series, ours):
    others = [name for name in series if name not in ours]
    for name, points in series.items():
        n, seconds = zip(*sorted(points), strict=True)
        growth = exponent(n, seconds)
        label = name if growth is None else f"{name}: n^{growth:.2g}"
        if name in ours:
            style = {"color": COLOURS[0], "linewidth": 2.2, "marker": "os"[ours.index(name)]}
        else:
            place = others.index(name)
            style = {"color": _OTHERS[place % len(_OTHERS)], "linewidth": 1,
                     "marker": "x^vD<>*P"[place % 8], "markersize": 5}  # fmt: skip
        ax.loglog(n, seconds, label=label, **style)


def main():
    parser = options(__doc__)
    parser.add_argument("--parts", nargs="*", default=PARTS, choices=PARTS)
    parser.add_argument("--limit", type=float, default=900.0, help="seconds for one measurement")
    parser.add_argument("--resume", action="store_true", help="keep what the file has already")
    parser.add_argument("--report-only", action="store_true", help="tables and pictures again")
    args = parser.parse_args()
    stem = "pu-family-quick" if args.quick else "pu-family"
    path = Path(args.out) / f"{stem}.json"
    if args.report_only and not path.exists():
        sys.exit(f"{path} does not exist; run the benchmark first.")
    report = json.loads(path.read_text()) if args.report_only else run(args, path)
    write_report(report, stem, Path(args.out))


if __name__ == "__main__":
    main()
