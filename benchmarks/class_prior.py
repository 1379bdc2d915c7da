"""Class prior estimators on real sets whose prior is known.

Every draw takes 100 positive rows as labelled and up to 3000 other rows as unlabelled,
resampled so that 20 %, 50 % or the set's natural share of them are positive. Smaller sets
give a third of their positives as labelled, and what is left. The table has the mean absolute
error, the bias (estimate minus truth), the error by prior, and for the intervals at 90 %: how
often they contain the truth, and their mean width. Seconds include the fit of the scores.

Peers (pulearn, pu-toolbox) run in this interpreter or in that of --peers-python, on
standardised columns; without them their rows are missing and the report says why. Elkan and
Noto's estimate (mean held-out probability of the positives, logistic regression) is made here.
Estimates in the pooled convention are converted to the share among unlabelled rows, in [0, 1].
"""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

N_POSITIVE, N_UNLABELED = 100, 3000
PRIORS = (0.2, 0.5, None)
CONFIDENCE = 0.9
# pu-toolbox's kernel mean takes minutes on 3000 rows; ours takes its default, 500.
PEER_ROWS = 300

# Name, file, labels of the positive class.
SETS = [
    ("mushrooms", "mushrooms", [1]),
    ("phishing", "phishing", [1]),
    ("spambase", "adbench_spambase", [1]),
    ("USPS even", "usps", [0, 2, 4, 6, 8]),
    ("magic", "adbench_magic_gamma", [0]),
    ("a9a", "a9a", [1]),
    ("shuttle", "shuttle", [1]),
    ("MNIST even", "mnist", [0, 2, 4, 6, 8]),
    ("MNIST 3", "mnist", [3]),
    ("cod-rna", "cod_rna", [1]),
    ("ijcnn1", "ijcnn1", [1]),
    ("w8a", "w8a", [1]),
    ("bank", "bank_additional", [1]),
    ("kr-vs-kp", "usmo_krvskp", [1]),
    ("australian", "usmo_australian", [1]),
    ("clean1", "usmo_clean1", [1]),
    ("diabetes", "usmo_diabetes", [1]),
    ("heart", "usmo_heart_statlog", [1]),
    ("house-votes", "usmo_house_votes", [1]),
    ("ionosphere", "usmo_ionosphere", [1]),
    ("isolet", "usmo_isolet", [1]),
    ("liver", "usmo_liverdisorders", [1]),
    ("spectf", "usmo_spectf", [1]),
    ("text (CSR)", "chapelle_text", [1]),
    ("newsgroups (CSR)", "mini_newsgroups", list(range(10))),
]
QUICK = ("mushrooms", "heart", "text (CSR)")


# -- draws -----------------------------------------------------------------------------


def load(folder, stem, positive):
    """Rows (float32, dense or CSR) and which are positive."""
    if (folder / f"{stem}_X.npz").is_file():
        import scipy.sparse as sp

        X = sp.csr_array(sp.load_npz(folder / f"{stem}_X.npz")).astype(np.float32)
        y = np.load(folder / f"{stem}_y.npz", allow_pickle=False)["y"]
    else:
        with np.load(folder / f"{stem}.npz", allow_pickle=False) as stored:
            X, y = stored["X"].astype(np.float32), stored["y"]
    return X, np.isin(y, positive)


def draw(positive, prior, rng, n_unlabeled):
    """Row numbers of labelled positive and of unlabelled rows, and the true prior."""
    ours, others = (rng.permutation(np.flatnonzero(side)) for side in (positive, ~positive))
    share = positive.mean() if prior is None else prior
    n_positive = min(N_POSITIVE, len(ours) // 3)
    ours, labelled = ours[n_positive:], ours[:n_positive]
    n = int(min(n_unlabeled, len(ours) / share, len(others) / (1.0 - share)))
    hidden = round(share * n)
    unlabeled = rng.permutation(np.concatenate([ours[:hidden], others[: n - hidden]]))
    return labelled, unlabeled, positive[unlabeled].mean()


# -- our estimators ----------------------------------------------------------------------


class Given:
    """A "classifier" for scores that were computed before: its score is the only column."""

    def get_params(self, deep=True):
        return {}

    def set_params(self):
        return self

    def fit(self, X, y):
        return self

    def decision_function(self, X):
        return X[:, 0]


def our_estimates(X, y, seed):
    """Method to (prior, low, high, seconds)."""
    from common import timed

    from fewlabels import class_prior as cp
    from fewlabels.class_prior.methods._scores import cross_fitted_scores

    results = {}

    def record(name, function, before=0.0):
        seconds, (prior, low, high) = timed(function)
        results[name] = (prior, low, high, seconds + before)

    def point(estimator, rows=X):
        return lambda: (estimator.fit(rows, y).prior_, None, None)

    def interval(estimator, rows):
        def run():
            e = cp.estimate_prior(rows, y, estimator, confidence=CONFIDENCE)
            return e.prior, e.low, e.high

        return run

    # Estimators that work on scores get the same ones, computed once.
    rng = np.random.RandomState(seed)
    seconds, scores = timed(cross_fitted_scores, X, y == 1, random_state=rng)
    scores = scores[:, None]
    for name, cls in (
        ("saturated logistic (auto)", cp.SaturatedLogistic),
        ("best bin", cp.BestBin),
        ("Blanchard", cp.Blanchard),
    ):
        record(name, interval(cls(scorer=Given()), scores), seconds)
    record("DEDPUL", point(cp.DEDPUL(scorer=Given()), scores), seconds)
    for name, cls in (
        ("Lee-Liu", cp.LeeLiu),
        ("penL1", cp.PenL1),
        ("KM1", cp.KM1),
        ("KM2", cp.KM2),
        ("TIcE", cp.TIcE),
    ):
        record(name, point(cls(random_state=seed)))
    record("Elkan-Noto", lambda: (elkan_noto(X, y, seed), None, None))
    return results


def elkan_noto(X, y, seed):
    """Elkan and Noto 2008, estimator e1: the mean held-out P(labelled | x) of positives."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(
        StandardScaler(with_mean=isinstance(X, np.ndarray)), LogisticRegression(max_iter=300)
    )
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    labelled = cross_val_predict(model, X, y, cv=folds, method="predict_proba")[:, 1]
    frequency = labelled[y == 1].mean()
    return from_pooled(np.mean(y == 1) / frequency, y)


def from_pooled(prior, y):
    """Share among unlabelled rows, in [0, 1], whatever the pooled one says."""
    n, n_positive = len(y), int(np.sum(y == 1))
    return float(np.clip((prior * n - n_positive) / (n - n_positive), 0.0, 1.0))


# -- peers, in their own interpreter -------------------------------------------------------


def peer_worker():
    """Answer lines with the path of a draw by lines of JSON, until there are no more."""
    methods, missing = peer_methods()
    print(json.dumps({"missing": missing}), flush=True)
    for line in sys.stdin:
        with np.load(line.strip()) as stored:
            X, y = stored["X"].astype(np.float64), stored["y"]
        X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
        answers = {}
        for names, function in methods.items():
            started = time.perf_counter()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    values = function(X, y)
            except Exception as error:
                values = [None] * len(names)
                print(f"{names}: {error}", file=sys.stderr)
            seconds = (time.perf_counter() - started) / len(names)
            for name, value in zip(names, values, strict=True):
                answers[name] = None if value is None else (float(value), None, None, seconds)
        print(json.dumps(answers), flush=True)


def peer_methods():
    methods, missing = {}, {}
    try:
        from pulearn.priors import HistogramMatchPriorEstimator, ScarEMPriorEstimator

        def pulearn(cls):
            return lambda X, y: [from_pooled(cls().estimate(X, y).pi, y)]

        methods["pulearn HistogramMatch",] = pulearn(HistogramMatchPriorEstimator)
        methods["pulearn ScarEM",] = pulearn(ScarEMPriorEstimator)
    except ImportError as error:
        missing["pulearn"] = str(error)
    try:
        from pu_toolbox.prior.kernel_mean import KernelMeanPriorEstimator
        from pu_toolbox.prior.pen_l1 import ClassPriorEstimator
        from pu_toolbox.prior.recpe import ReCPEEstimator

        def kernel_mean(variant):
            return KernelMeanPriorEstimator(
                variant=variant, max_samples_per_group=PEER_ROWS, random_state=0
            )

        def both(X, y):
            fitted = kernel_mean("km1").fit(X, y)
            return [fitted.km1_estimate_, fitted.km2_estimate_]

        def regrouped(X, y):
            return [ReCPEEstimator(base_estimator=kernel_mean("km2")).fit(X, y).estimate()]

        methods["pu-toolbox KM1", "pu-toolbox KM2"] = both
        methods["pu-toolbox penL1",] = lambda X, y: [ClassPriorEstimator().fit(X, y).estimate()]
        methods["pu-toolbox ReCPE",] = regrouped
    except ImportError as error:
        missing["pu-toolbox"] = str(error)
    return methods, missing


class Peers:
    """The worker, as a context that estimates."""

    def __init__(self, python):
        self.folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [python, __file__, "--peer-worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        first = self.process.stdout.readline()
        self.missing = json.loads(first)["missing"] if first else {"peers": "no answer"}

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.process.stdin.close()
        self.process.wait()
        self.folder.cleanup()

    def estimates(self, X, y):
        if self.process.poll() is not None:
            return {}
        path = Path(self.folder.name) / "draw.npz"
        np.savez(path, X=X if isinstance(X, np.ndarray) else X.toarray(), y=y)
        print(path, file=self.process.stdin, flush=True)
        answers = json.loads(self.process.stdout.readline() or "{}")
        return {name: values for name, values in answers.items() if values is not None}


# -- the run -------------------------------------------------------------------------------


def run(folder, sets, draws, n_unlabeled, peers):
    """The rows of the table, set by set."""
    for name, stem, labels in sets:
        X, positive = load(folder, stem, labels)
        lines = []
        for prior in PRIORS:
            for number in range(draws):
                key = [number, 0 if prior is None else round(100 * prior), len(positive)]
                rng = np.random.default_rng(key)
                labelled, unlabeled, truth = draw(positive, prior, rng, n_unlabeled)
                rows = X[np.concatenate([labelled, unlabeled])]
                y = np.repeat([1, 0], [len(labelled), len(unlabeled)])
                found = {**our_estimates(rows, y, number), **peers.estimates(rows, y)}
                for method, (value, low, high, seconds) in found.items():
                    line = {
                        "set": name,
                        "wanted": "natural" if prior is None else prior,
                        "draw": number,
                        "n_positive": len(labelled),
                        "n_unlabeled": len(unlabeled),
                        "truth": float(truth),
                        "method": method,
                        "estimate": value,
                        "low": low,
                        "high": high,
                        "seconds": seconds,
                    }
                    lines.append(line)
        print(f"{name}: done", flush=True)
        yield lines


def summary(rows):
    """One line per method, best first."""
    lines = []
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = [row for row in rows if row["method"] == method]
        error = np.array([row["estimate"] - row["truth"] for row in mine])
        parts = [
            np.mean([abs(e) for e, row in zip(error, mine, strict=True) if row["wanted"] == p])
            for p in (0.2, 0.5, "natural")
        ]
        spans = [row for row in mine if row["low"] is not None]
        held = [row["low"] <= row["truth"] <= row["high"] for row in spans]
        lines.append(
            [
                method,
                len(mine),
                float(np.mean(np.abs(error))),
                float(np.mean(error)),
                *map(float, parts),
                float(np.mean(held)) if spans else None,
                float(np.mean([row["high"] - row["low"] for row in spans])) if spans else None,
                float(np.median([row["seconds"] for row in mine])),
            ]
        )
    return sorted(lines, key=lambda line: line[2])


TITLES = [
    "method",
    "draws",
    "mean abs. error",
    "bias",
    "error at .2",
    "at .5",
    "natural",
    "90 % interval holds truth",
    "width",
    "seconds (median)",
]


def by_set(rows, methods):
    """Mean absolute error per set and method, and the coverage of the first method."""
    lines = []
    for name in dict.fromkeys(row["set"] for row in rows):
        here = [row for row in rows if row["set"] == name]
        errors = []
        for method in methods:
            mine = [abs(r["estimate"] - r["truth"]) for r in here if r["method"] == method]
            errors.append(float(np.mean(mine)) if mine else None)
        first = [r for r in here if r["method"] == methods[0] and r["low"] is not None]
        held = np.mean([r["low"] <= r["truth"] <= r["high"] for r in first]) if first else None
        sizes = f"{here[0]['n_positive']} + {max(r['n_unlabeled'] for r in here)}"
        lines.append([name, sizes, *errors, held])
    return lines


def report(rows, missing, info):
    from common import machine_line, markdown_table

    lines = summary(rows)
    shown = [line[0] for line in lines[:8]]
    auto = "saturated logistic (auto)"
    shown = [auto, *(m for m in shown if m != auto)]
    sets = by_set(rows, shown)
    text = [
        "# Class prior on real sets\n",
        machine_line(info) + "\n",
        __doc__,
        markdown_table(TITLES, lines),
        "",
        *(f"Without {name}: {reason}\n" for name, reason in missing.items()),
        "## Mean absolute error by set\n",
        markdown_table(["set", "labelled + unlabelled", *shown, "interval of auto holds"], sets),
        "",
    ]
    return "\n".join(text)


def as_csv(rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def main():
    from common import data_folder, machine, options, write_text

    parser = options(__doc__)
    parser.add_argument("--draws", type=int, default=2, help="draws per set and prior")
    parser.add_argument("--sets", nargs="+", help="only sets whose name starts with one of these")
    parser.add_argument(
        "--peers-python",
        default=sys.executable,
        help="interpreter that has pulearn and pu-toolbox (default: this one)",
    )
    args = parser.parse_args()
    folder = data_folder(args)
    sets = [s for s in SETS if not args.quick or s[0] in QUICK]
    if args.sets:
        sets = [s for s in sets if s[0].startswith(tuple(args.sets))]
    if not sets:
        sys.exit(f"no set is named like {args.sets}; known: {', '.join(s[0] for s in SETS)}.")
    draws, n_unlabeled = (1, 500) if args.quick else (args.draws, N_UNLABELED)
    stem = "class_prior-quick" if args.quick else "class_prior"
    info = machine()
    rows = []
    with Peers(args.peers_python) as peers:
        for rows_of_set in run(folder, sets, draws, n_unlabeled, peers):
            rows += rows_of_set
            text = report(rows, peers.missing, info)
            write_text(args.out / f"{stem}.csv", as_csv(rows))
            write_text(args.out / f"{stem}.md", text)
    print(text)


if __name__ == "__main__":
    if sys.argv[1:] == ["--peer-worker"]:
        peer_worker()
    else:
        main()
