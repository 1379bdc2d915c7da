"""Cost and accuracy of PU learning against the number of unlabelled rows (USMO, Figures 4-7).

    python benchmarks usmo_scaling --data FOLDER

One class against the rest, 100 labelled positives, lambda = 0.01, linear and Gaussian kernel
(scale 1, that is gamma = 0.5), as in Sansone, De Natale & Zhou (2019), section 6; unlabelled
rows from 500 on, doubled until a method is out of time or memory, or the set ends. Sets:

  shuttle  43 500 rows, tested on its 14 500     mnist  60 000 rows, tested on its 10 000
  bank     28 000 rows without "unknown", 20 columns, tested on the other 2488
  adult    a9a, 32 561 rows, tested on its 16 281
  poker    random hands by the rules, up to one million, tested on the 25 010 of UCI's file

Columns are scaled to [0, 1] by the training rows, as in the matrices that the paper's authors
published (the paper does not say what was done to these five sets). Where a class has fewer
than 200 rows, half of them are labelled. The prior passed is the class's share among the
training rows that are left. `--classes poker:3 shuttle:4` chooses other panels.

Methods
  ours       PUSVM(solver="decomposition"), the default
  USMO       PUSVM(solver="usmo"), the paper's Algorithm 1 with its initialisation
  QP         PUSVM(solver="qp"): problem (6) by an interior point code, the paper's [7]
  ramp, QP   PUSVM(loss="ramp", solver="qp"): concave-convex procedure, the paper's [6]
  ramp, ours PUSVM(loss="ramp"): the same procedure on our engine

Protocol
  Every fit runs in a fresh process that warms up with a fit on at most 3000 of the rows. Seconds
  are the fastest of several fits while these fit into a second, else of one. Memory is the
  high-water mark of resident memory during the first fit minus resident memory before it. A
  method that fails, needs more than --limit seconds (60) or --memory GB (12) is not tried on
  more rows. Accuracy is that on the test rows at the risk's threshold, which is the paper's; the
  table has the one at the prior's threshold, our default, beside it. The exponent is the
  slope of log seconds over log n at the largest five sizes that take 0.02 s or more. The floor is
  the time that n_U x n_SV kernel values take with our own kernel product on the same rows,
  in the same process (linear kernel: one product with the support vectors).
"""

from __future__ import annotations

import json
import resource
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
    write_json,
    write_text,
)
from shared.pu_data import Draw, label_some, read
from shared.pu_measure import certificate, exponent, floor, measure_fit, quality

METHODS = {
    "ours": {"solver": "decomposition"},
    "USMO": {"solver": "usmo"},
    "QP": {"solver": "qp"},
    "ramp, QP": {"loss": "ramp", "solver": "qp"},
    "ramp, ours": {"loss": "ramp", "solver": "decomposition"},
}
# Rows of the fit that warms up; a general QP compiles nothing.
_WARM_ROWS = {"ours": 3000, "USMO": 1200, "QP": 200, "ramp, QP": 200, "ramp, ours": 3000}
FILES = {
    "shuttle": "shuttle", "mnist": "mnist", "bank": "bank_additional", "adult": "a9a",
    "poker": "poker_hand_train",
}  # fmt: skip
DEFAULT_CLASSES = ["shuttle:1", "shuttle:4", "mnist:0", "mnist:3", "bank:1", "adult:1", "poker:1"]
LARGEST = {"shuttle": 43_500, "mnist": 60_000, "bank": 28_000, "adult": 32_561,
           "poker": 1_000_000 + 100}  # fmt: skip
KERNELS = ["linear", "gaussian"]
N_POSITIVE, LAM, GAMMA = 100, 0.01, 0.5
# So many hands are dealt beyond the unlabelled ones that taking 100 of them does not show.
_HANDS_TO_LABEL = 100_000


# -- data --------------------------------------------------------------------------------------


def load(folder, name, largest):
    """Training rows, labels, test rows, labels; columns in [0, 1]."""
    file = FILES[name]
    if name == "bank":
        X, y, unknown = read(folder, file, "X_codes", "y", "has_unknown")
        keep = np.random.default_rng(0).permutation(np.flatnonzero(~unknown.astype(bool)))
        train, test = np.split(keep, [LARGEST["bank"]])
        X, y, X_test, y_test = X[train], y[train], X[test], y[test]
    elif name == "poker":
        from fewlabels.cli.demo.data import make_poker_hands

        X, y = make_poker_hands(largest, random_state=0)
        X_test, y_test = read(folder, file, "X", "y")
    else:
        X, y, X_test, y_test = read(folder, file, "X", "y", "X_test", "y_test")
    dtype = np.float32 if name == "mnist" else np.float64
    low = X.min(axis=0).astype(dtype)
    width = X.max(axis=0) - low
    width[width == 0] = 1
    scale = lambda rows: np.subtract(rows, low, dtype=dtype) / width.astype(dtype)  # noqa: E731
    return scale(X), y, scale(X_test), y_test


def make_draw(folder, case, n_unlabeled):
    """The first ``n_unlabeled`` unlabelled rows of a fixed order (poker: of hands dealt anew)."""
    name, wanted = case
    X, y, X_test, y_test = load(folder, name, n_unlabeled + _HANDS_TO_LABEL)
    positive = y == wanted
    n_class = int(positive.sum())
    if n_class < 2:
        raise ValueError(f"{name} has {n_class} rows of class {wanted}; two are needed.")
    n_labelled = min(N_POSITIVE, n_class // 2)
    labelled, rest = label_some(positive, n_labelled, np.random.default_rng(1))
    unlabeled = rest[:n_unlabeled]
    return Draw(
        X=np.concatenate([X[labelled], X[unlabeled]]),
        n_positive=len(labelled),
        truth=positive[unlabeled],
        X_test=X_test,
        y_test=y_test == wanted,
        prior=float(positive[rest].mean()),
    )


# -- one measurement ---------------------------------------------------------------------------


def make_model(method, kernel, gamma, prior, limit):
    from fewlabels import PUSVM

    settings = {"kernel": "linear"} if kernel == "linear" else {"gamma": gamma}
    return PUSVM(prior=prior, lam=LAM, threshold="risk", max_time=limit,
                 **settings, **METHODS[method])  # fmt: skip


def measure(folder, case, n_unlabeled, method, kernel, args):
    """All figures of one method on one size; runs in a process of its own."""
    bytes_allowed = int(args.memory * 1e9)
    resource.setrlimit(resource.RLIMIT_DATA, (bytes_allowed, bytes_allowed))
    draw = make_draw(folder, case, n_unlabeled)
    few = slice(0, draw.n_positive + min(_WARM_ROWS[method], n_unlabeled))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make_model(method, kernel, args.gamma, draw.prior, 10.0).fit(draw.X[few], draw.y[few])

    def fit():
        return make_model(method, kernel, args.gamma, draw.prior, args.limit).fit(draw.X, draw.y)

    model, figures = measure_fit(fit, budget=1.0)
    scores = model.decision_function(draw.X_test)
    figures |= quality(scores, scores > 0, draw.y_test, draw.prior)
    # The prior's threshold, from the unlabelled rows.
    cut = np.quantile(model.decision_function(draw.X[draw.n_positive :]), 1.0 - draw.prior)
    at_prior = quality(scores, scores > cut, draw.y_test, draw.prior)
    figures |= {"accuracy_prior": at_prior["accuracy"], "f1_prior": at_prior["f1"]}
    figures |= {"n_u": len(draw.truth), "n_p": draw.n_positive, "prior": draw.prior,
                "d": draw.X.shape[1], "gamma": model.gamma_}  # fmt: skip
    figures |= certificate(model)
    if method == "ours":
        figures |= floor(model, draw)
    return figures


# -- the run -----------------------------------------------------------------------------------


def sizes(name, quick):
    largest = LARGEST[name] - N_POSITIVE
    if quick:
        return [250, 500]
    grid = [500 * 2**k for k in range(12)]
    return [*(n for n in grid if n < 0.8 * largest), largest]


def run(cases, kernels, methods, args, folder, path):
    """Measure every series until it ends; the file is written after each size."""
    records = {}
    if args.resume and path.exists():
        records = json.loads(path.read_text())["series"]
    report = {"machine": machine(), "limit_s": args.limit, "memory_gb": args.memory,
              "gamma": args.gamma, "series": records}  # fmt: skip
    for case in cases:
        for kernel in kernels:
            for method in methods:
                name = f"{case[0]}:{case[1]}|{kernel}|{method}"
                if args.resume and name in records:
                    continue
                run_series(case, kernel, method, args, folder, records, name,
                           lambda: write_json(path, report))  # fmt: skip
    return report


def run_series(case, kernel, method, args, folder, records, name, save):
    """Sizes from small to large until one fails."""
    found = []
    for n in sizes(case[0], args.quick):
        try:
            allowed = 2.0 * args.limit + 60.0  # with data and warm-up
            r = in_child(measure, folder, case, n, method, kernel, args, limit=allowed)
        except ChildFailed as failure:
            reason = str(failure).strip().splitlines()[-1]
            if reason.startswith("over"):
                reason = f"over {args.limit:g} s"
            r = {"n_u": n, "failed": reason}
        if "fit_s" in r and not r["converged"] and r["fit_s"] >= 0.9 * args.limit:
            r = {"n_u": n, "failed": f"over {args.limit:g} s", "unfinished": r}
        found.append(r)
        print(f"{name:<32} n_U = {n:>7}: {sentence(r)}", flush=True)
        records[name] = found
        save()
        if "failed" in r or r["fit_s"] > args.limit:
            return


def sentence(r):
    if "failed" in r:
        return r["failed"]
    text = (f"{r['fit_s']:.4g} s (best of {r['fits']}), +{r['extra_mb']:.0f} MB, accuracy "
            f"{r['accuracy']:.4f}, {r['n_sv']} SVs, gap {r['relative_gap']:.1e}")  # fmt: skip
    if "floor_s" in r:
        text += f", {r['fit_s'] / r['floor_s']:.1f} x floor"
    return text + "".join(f"\n        {w}" for w in r["warnings"])


# -- the report --------------------------------------------------------------------------------


def finished(series):
    return [r for r in series if "failed" not in r]


def by_case(records):
    """case -> kernel -> method -> series."""
    nested = {}
    for name, series in records.items():
        case, kernel, method = name.split("|")
        nested.setdefault(case, {}).setdefault(kernel, {})[method] = series
    return nested


def summary_rows(nested):
    """One row per case, kernel and method: how far it got, and how it grows."""
    rows = []
    for case, kernels in nested.items():
        for kernel, methods in kernels.items():
            ours = {r["n_u"]: r for r in finished(methods.get("ours", []))}
            for method, series in methods.items():
                done = finished(series)
                ended = next((r["failed"] for r in series if "failed" in r), "the set ended")
                if done and done[-1] is series[-1] and done[-1]["fit_s"] > 60:
                    ended = "over 60 s"
                if not done:
                    rows.append([case, kernel, method, None, None, None, None, None, None, ended])
                    continue
                last = done[-1]
                same = ours.get(last["n_u"])
                ratio = last["fit_s"] / same["fit_s"] if same and method != "ours" else None
                growth = exponent([r["n_u"] for r in done], [r["fit_s"] for r in done])
                figures = [last["n_u"], last["fit_s"], ratio, round(last["extra_mb"]), growth]
                rows.append([case, kernel, method, *figures, last["accuracy"], ended])
    return rows


def detail_rows(nested):
    rows = []
    for case, kernels in nested.items():
        for kernel, methods in kernels.items():
            for method, series in methods.items():
                rows += [
                    [case, kernel, method, r["n_u"], r["fit_s"], round(r["extra_mb"]),
                     round(r["peak_mb"]), f"{r['accuracy']:.4f}", f"{r['accuracy_prior']:.4f}",
                     r["f1_prior"], r["auc"], r["n_sv"], f"{r['objective']:.6g}",
                     r["relative_gap"]]
                    for r in finished(series)
                ]  # fmt: skip
    return rows


def floor_rows(nested):
    return [
        [case, kernel, r["n_u"], r["d"], r["n_sv"], r["rounds"], r.get("ns_per_value"),
         r.get("values_over_floor"), r["floor_s"], r["fit_s"], r["fit_s"] / r["floor_s"]]
        for case, kernels in nested.items()
        for kernel, methods in kernels.items()
        for r in finished(methods.get("ours", []))
    ]  # fmt: skip


def write_report(report, stem, out):
    nested = by_case(report["series"])
    pictures = [
        draw_panels(nested, kernel, out / f"{stem}-{kernel}.png")
        for kernel in KERNELS
        if any(kernel in kernels for kernels in nested.values())
    ]
    text = [
        "# PU learning against the number of unlabelled rows (USMO, Figures 4-7)",
        machine_line(report["machine"]),
        f"Limits: {report['limit_s']:g} s, {report['memory_gb']:g} GB. Gaussian kernel: gamma = "
        f"{report['gamma']}.",
        "```\n" + __doc__.split("\n\n", 2)[2].strip("\n") + "\n```",
        *(f"![{picture.stem}]({picture.name})" for picture in pictures),
        "## The largest size that each method solved",
        "`it / ours`: seconds of the method over seconds of ours at that size.",
        markdown_table(
            ["case", "kernel", "method", "n_U", "seconds", "it / ours", "extra MB", "exponent",
             "accuracy", "ended by"],
            summary_rows(nested),
        ),
        "## Distance from the floor",
        markdown_table(
            ["case", "kernel", "n_U", "d", "SVs", "rounds", "ns / value", "values / floor",
             "floor s", "fit s", "fit / floor"],
            floor_rows(nested),
        ),
        "## Every fit",
        markdown_table(
            ["case", "kernel", "method", "n_U", "seconds", "extra MB", "peak MB",
             "accuracy, risk", "accuracy, prior", "F1, prior", "AUC", "SVs", "objective",
             "relative gap"],
            detail_rows(nested),
        ),
    ]  # fmt: skip
    columns = ["series", "n_U", "seconds", "extra_mb", "accuracy", "accuracy_prior"]
    lines = [",".join(columns)] + [
        f'"{name}",{r["n_u"]},{r["fit_s"]:.6g},{r["extra_mb"]:.3f},{r["accuracy"]:.6f},'
        f"{r['accuracy_prior']:.6f}"
        for name, series in report["series"].items()
        for r in finished(series)
    ]
    write_text(out / f"{stem}.csv", "\n".join(lines) + "\n")
    write_text(out / f"{stem}.md", "\n\n".join(text) + "\n")
    print(f"wrote {out / stem}.md, .csv, .json" + "".join(f", {p.name}" for p in pictures))


def draw_panels(nested, kernel, path):
    """Seconds, memory and accuracy against n_U, one column per case."""
    cases = [case for case, kernels in nested.items() if kernel in kernels]
    fig, axes = figure(3, len(cases), figsize=(2.6 * len(cases) + 0.8, 7.2), sharex="col",
                       sharey="row", squeeze=False)  # fmt: skip
    handles = {}
    for column, case in enumerate(cases):
        for method, colour, marker in zip(METHODS, COLOURS, "osD^x", strict=True):
            done = finished(nested[case][kernel].get(method, []))
            if not done:
                continue
            n = [r["n_u"] for r in done]
            seconds = [r["fit_s"] for r in done]
            style = {"color": colour, "marker": marker, "markersize": 4,
                     "linewidth": 2 if method == "ours" else 1.2}  # fmt: skip
            growth = exponent(n, seconds)
            label = None if growth is None else f"{method}: n^{growth:.2g}"
            handles[method] = axes[0, column].loglog(n, seconds, label=label, **style)[0]
            axes[1, column].loglog(n, [max(r["extra_mb"], 0.1) for r in done], **style)
            axes[2, column].semilogx(n, [r["accuracy"] for r in done], **style)
        axes[0, column].set_title(case)
        axes[2, column].set_xlabel("unlabelled rows")
        if axes[0, column].get_legend_handles_labels()[1]:
            axes[0, column].legend(frameon=False, fontsize=6.5, loc="upper left", handlelength=1)
        plain_ticks(axes[2, column].xaxis)
        axes[2, column].tick_params(axis="x", labelsize=8)
    for row, title in enumerate(["seconds to fit", "extra memory, MB", "test accuracy"]):
        axes[row, 0].set_ylabel(title)
        if row < 2:
            plain_ticks(axes[row, 0].yaxis)
    fig.legend(handles.values(), handles, loc="outside lower center", ncols=len(handles),
               frameon=False)  # fmt: skip
    fig.suptitle(f"100 positives, lambda = {LAM:g}, {kernel} kernel")
    save_figure(fig, path)
    return path


# -- the command line --------------------------------------------------------------------------


def parsed_case(text):
    name, _, number = text.partition(":")
    if name not in FILES or not number.lstrip("-").isdigit():
        sys.exit(f"{text!r} is no panel; write SET:CLASS, such as poker:3, with a set of "
                 f"{', '.join(FILES)} and a class of its labels.")  # fmt: skip
    return name, int(number)


def main():
    parser = options(__doc__)
    parser.add_argument("--classes", nargs="*", metavar="SET:CLASS", help="panels")
    parser.add_argument("--kernels", nargs="*", choices=KERNELS)
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--gamma", default=GAMMA, help="0.5 (the paper's), 'scale', or a number")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds until given up")
    parser.add_argument("--memory", type=float, default=12.0, help="GB until given up")
    parser.add_argument("--resume", action="store_true", help="keep the series already measured")
    parser.add_argument(
        "--report-only", action="store_true", help="draw tables and pictures again"
    )
    args = parser.parse_args()
    args.gamma = args.gamma if args.gamma == "scale" else float(args.gamma)
    if args.quick:  # one panel: each of its fits needs a process, which takes seconds
        args.limit = min(args.limit, 5.0)
    args.classes = args.classes or (DEFAULT_CLASSES[:1] if args.quick else DEFAULT_CLASSES)
    args.kernels = args.kernels or (KERNELS[1:] if args.quick else KERNELS)
    cases = [parsed_case(text) for text in args.classes]
    stem = "usmo-scaling" + ("-scale" if args.gamma == "scale" else "")
    stem += "-quick" if args.quick else ""
    path = Path(args.out) / f"{stem}.json"
    if args.report_only:
        report = json.loads(path.read_text())
    else:
        folder = data_folder(args, sorted({FILES[name] for name, _ in cases}))
        report = run(cases, args.kernels, args.methods, args, folder, path)
    write_report(report, stem, Path(args.out))


if __name__ == "__main__":
    main()
