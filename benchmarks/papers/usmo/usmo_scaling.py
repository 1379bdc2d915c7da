"""Cost and accuracy of PU learning against the number of unlabelled rows (USMO, Figures 4-7).

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
training rows that are left. `--panels poker:3 shuttle:4` chooses other panels.

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
  method that fails, or needs more than --limit seconds (60) or --memory GB (12), is not tried on
  more rows. Accuracy is that on the test rows at the risk's threshold, which is the paper's, and
  at the prior's threshold, our default. The exponent is the slope of log seconds over log n at
  the largest five sizes that take 0.02 s or more. The floor is the time that n_U x n_SV kernel
  values take with our own kernel product on the same rows, in the same process (linear kernel:
  one product with the support vectors).
"""

from __future__ import annotations

import resource
import sys

import numpy as np
from shared.common import COLOURS, figure, group, markdown_table, plain_ticks, save_figure
from shared.pu_data import Draw, label_some, read
from shared.pu_measure import certificate, exponent, floor, measure_fit, quality
from study import Case, Setting, Study

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
PANELS = ["shuttle:1", "shuttle:4", "mnist:0", "mnist:3", "bank:1", "adult:1", "poker:1"]
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


def measure(folder, case, kernel, method, n_unlabeled, gamma, limit, memory):
    """All figures of one method on one size; runs in a process of its own."""
    bytes_allowed = int(memory * 1e9)
    resource.setrlimit(resource.RLIMIT_DATA, (bytes_allowed, bytes_allowed))
    draw = make_draw(folder, case, n_unlabeled)
    few = slice(0, draw.n_positive + min(_WARM_ROWS[method], n_unlabeled))
    make_model(method, kernel, gamma, draw.prior, 10.0).fit(draw.X[few], draw.y[few])

    def fit():
        return make_model(method, kernel, gamma, draw.prior, limit).fit(draw.X, draw.y)

    model, figures = measure_fit(fit, budget=1.0)
    if figures["fit_s"] >= 0.9 * limit:
        raise TimeoutError(f"over {limit:g} s")
    scores = model.decision_function(draw.X_test)
    figures |= quality(scores, scores > 0, draw.y_test, draw.prior)
    # The prior's threshold, from the unlabelled rows.
    cut = np.quantile(model.decision_function(draw.X[draw.n_positive :]), 1.0 - draw.prior)
    at_prior = quality(scores, scores > cut, draw.y_test, draw.prior)
    figures |= {"accuracy_prior": at_prior["accuracy"], "f1_prior": at_prior["f1"]}
    figures |= {"n_p": draw.n_positive, "prior": draw.prior, "d": draw.X.shape[1]}
    figures |= certificate(model)
    return figures | (floor(model, draw) if method == "ours" else {})


def sizes(name, is_quick):
    largest = LARGEST[name] - N_POSITIVE
    grid = [500 * 2**k for k in range(12)]
    return [250, 500] if is_quick else [*(n for n in grid if n < 0.8 * largest), largest]


def parsed(panel):
    name, _, number = panel.partition(":")
    if name not in FILES or not number.lstrip("-").isdigit():
        sys.exit(f"{panel!r} is no panel; write SET:CLASS, such as poker:3, with a set of "
                 f"{', '.join(FILES)} and a class of its labels.")  # fmt: skip
    return name, int(number)


def cases(options):
    gamma = options.gamma if options.gamma == "scale" else float(options.gamma)
    for panel in options.panels:
        for kernel in options.kernels:
            for method in options.methods:
                for n in sizes(parsed(panel)[0], options.quick):
                    yield Case(
                        {"panel": panel, "kernel": kernel, "method": method, "n_u": n}, measure,
                        (options.data, parsed(panel), kernel, method, n, gamma, options.limit,
                         options.memory),
                        apart=True, limit=2.0 * options.limit + 60.0,  # with data and warm-up
                        series=f"{panel}, {kernel}, {method}",
                    )  # fmt: skip


# -- the report --------------------------------------------------------------------------------


def report(results):
    records = results.records
    for kernel, some in group(records, "kernel").items():
        draw_panels(some, kernel, results.picture(kernel))
        yield f"![Seconds, memory and accuracy]({results.picture(kernel).name})"
    yield "## The largest size that each method solved"
    ours = {(r["panel"], r["kernel"], r["n_u"]): r["fit_s"] for r in records
            if r["method"] == "ours"}  # fmt: skip
    rows = []
    for key, some in group(records, "panel", "kernel", "method").items():
        last, growth = some[-1], exponent(*([r[k] for r in some] for k in ("n_u", "fit_s")))
        same = ours.get((*key[:2], last["n_u"]))
        rows.append([*key, last["n_u"], last["fit_s"], same and last["fit_s"] / same,
                     round(last["extra_mb"]), growth, last["accuracy"]])  # fmt: skip
    yield markdown_table(["panel", "kernel", "method", "n_U", "seconds", "it / ours", "extra MB",
                          "exponent", "accuracy"], rows)  # fmt: skip
    yield "## Distance from the floor"
    keys = ["panel", "kernel", "n_u", "d", "n_sv", "rounds", "floor_s", "fit_s"]
    found = [r for r in records if "floor_s" in r]
    yield markdown_table([*keys, "fit / floor"], [
        [*(r[k] for k in keys), r["fit_s"] / r["floor_s"]] for r in found
    ])  # fmt: skip
    yield "## Every fit"
    keys = ["panel", "kernel", "method", "n_u", "fit_s", "extra_mb", "peak_mb", "accuracy",
            "accuracy_prior", "f1_prior", "auc", "n_sv", "objective", "relative_gap"]  # fmt: skip
    yield markdown_table(keys, [[r[k] for k in keys] for r in records])


def draw_panels(records, kernel, path):
    """Seconds, memory and accuracy against n_U, one column per panel."""
    panels = group(records, "panel")
    fig, axes = figure(3, len(panels), figsize=(2.6 * len(panels) + 0.8, 7.2), sharex="col",
                       sharey="row", squeeze=False)  # fmt: skip
    handles = {}
    for column, (panel, some) in enumerate(panels.items()):
        by_method = group(some, "method")
        for method, colour, marker in zip(METHODS, COLOURS, "osD^x", strict=True):
            done = by_method.get(method)
            if not done:
                continue
            n, seconds = ([r[key] for r in done] for key in ("n_u", "fit_s"))
            style = {"color": colour, "marker": marker, "markersize": 4,
                     "linewidth": 2 if method == "ours" else 1.2}  # fmt: skip
            growth = exponent(n, seconds)
            label = None if growth is None else f"{method}: n^{growth:.2g}"
            handles[method] = axes[0, column].loglog(n, seconds, label=label, **style)[0]
            axes[1, column].loglog(n, [max(r["extra_mb"], 0.1) for r in done], **style)
            axes[2, column].semilogx(n, [r["accuracy"] for r in done], **style)
        axes[0, column].set_title(panel)
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


STUDY = Study(
    __doc__, cases, report, data="required",
    files=lambda options: [FILES[parsed(panel)[0]] for panel in options.panels],
    choices={"kernels": KERNELS, "methods": list(METHODS)},
    settings={
        "panels": Setting(PANELS, "SET:CLASS, such as poker:3"),
        "gamma": Setting(str(GAMMA), "0.5 (the paper's), 'scale', or a number"),
        "limit": Setting(60.0, "seconds until a fit is given up"),
        "memory": Setting(12.0, "GB until a fit is given up"),
    },
    quick={"panels": PANELS[:1], "kernels": KERNELS[1:], "limit": 5.0},
)  # fmt: skip
