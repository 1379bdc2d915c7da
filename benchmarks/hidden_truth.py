"""Compare what a fit reports with a truth that is hidden from it, from no signal to a strong one.

    python benchmarks/hidden_truth.py [--part prior positives classes unlike one-class]
        [--draws 5] [--half chosen shown] [--processes 2] [--budget 5] [--report-only]
        [--out results]

prior      ``estimate_prior`` alone: the class prior's interval.
positives  Positives and unlabelled rows: prior, number of positives, precision and recall of the
           rows predicted positive, the verdict on signal, probabilities, rank of the model.
classes    A few labels of two classes: accuracy, the verdict, rank of the model. Labels are drawn
           at random, in equal numbers per class, or 60 and 5, and rows may be repeated.
unlike     The same with a batch and a day as columns, of which one decided who was labelled, or
           neither: whether the report names the column.
one-class  Normal rows with or without a few anomalies among them: the false alarm rate.

Tables are Gaussian: six columns, two classes that a linear score separates with a known ROC AUC.
Everything about a case follows from its name, so that a study can be stopped and goes on where it
was: each case is one line of hidden-truth.jsonl. Settings alternate between two halves. Rules are
chosen on one half and reported on the other. The whole study takes an afternoon on two cores. Run
it with another program beside it to see what a busy machine does to time budgets.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import results as results_file
from common import machine, machine_line, markdown_table
from scipy.stats import binom, norm
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from fewlabels import fit_table
from fewlabels.baselines.methods import decision_of, few_label_methods, pu_methods
from fewlabels.class_prior import estimate_prior
from fewlabels.metrics import calibration_error

N_COLUMNS, N_UNLABELLED, LEVEL = 6, 1000, 0.9
SIGNALS = {"none": 0.5, "weak": 0.65, "moderate": 0.8, "strong": 0.95}
PRIOR_AREAS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.97)
PRIORS = (0.02, 0.07, 0.2, 0.5, 0.8, 0.95)
# A verdict of "no signal" is wrong from this true ROC AUC on, unless it says that it only holds up
# to a smaller share of positives, and one of "signal" at chance.
WORTHWHILE = 0.7


@dataclass(frozen=True)
class Case:
    """A setting and the number of its draw; ``area`` is the ROC AUC of the best linear score."""

    part: str
    area: float
    share: float  # of positives among unlabelled rows, of the rare class, or of anomalies
    n_labels: int
    labels: str  # "random", "equal", "skewed", "biased", "batch", "day" or "clean"
    repeats: int  # of every row
    draw: int
    half: str

    @property
    def name(self) -> str:
        """Name of the case in the file of results."""
        return " ".join(str(value) for key, value in asdict(self).items() if key != "half")

    @property
    def rng(self) -> np.random.Generator:
        """Generator that depends on the case alone."""
        parts = (self.area, self.share, self.n_labels, self.repeats, self.draw)
        return np.random.default_rng([round(1000 * part) for part in parts])


def cases(parts: list[str], draws: int) -> list[Case]:
    """Return all cases, the first draw of every setting before the second of any."""
    settings: dict[str, list[tuple[float, float, int, str, int]]] = {
        "prior": [s for s in product(PRIOR_AREAS, PRIORS, (30, 120), ("random",), (1,))],
        "positives": [
            *product(SIGNALS.values(), (0.02, 0.07, 0.3, 0.7, 0.95), (40, 120), ("random",), (1,)),
            *product((0.8, 0.95), (0.07, 0.3), (40, 120), ("biased",), (1,)),
            *product((0.5, 0.8), (0.3,), (40,), ("random",), (3,)),
        ],
        "classes": [
            *product(SIGNALS.values(), (0.03, 0.2, 0.5), (24, 60), ("random", "equal"), (1,)),
            *product((0.5, 0.8), (0.5,), (24,), ("random",), (2, 3)),
            *product((0.8, 0.95), (0.3, 0.7), (65,), ("skewed",), (1,)),
        ],
        "unlike": [*product((0.8, 0.95), (0.1, 0.3), (40,), ("random", "batch", "day"), (1,))],
        "one-class": [
            *product((0.95,), (0.0,), (100, 400), ("clean", "unknown"), (1,)),
            *product((0.95,), (0.02, 0.1), (100, 400), ("unknown",), (1,)),
            *product((0.95,), (0.0,), (100, 400), ("unknown",), (3,)),
        ],
    }
    return [
        Case(part, *setting, draw, ("chosen", "shown")[k % 2])
        for draw in range(draws)
        for part in parts
        for k, setting in enumerate(settings[part])
    ]


# -- tables ------------------------------------------------------------------------------------


def rows_of(rng: np.random.Generator, positive: np.ndarray, area: float) -> np.ndarray:
    """Draw Gaussian rows in which the best score of ``positive`` rows has this ROC AUC."""
    shift = np.sqrt(2.0 / N_COLUMNS) * norm.ppf(area)
    return rng.normal(size=(len(positive), N_COLUMNS)) + shift * positive[:, None]


def labelled_positives(case: Case, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows and hidden truth; the first ``n_labels`` rows are the labelled positives."""
    truth = rng.random(N_UNLABELLED // case.repeats) < case.share
    n_known = max(2, case.n_labels // case.repeats)
    if case.labels == "biased":  # twice as many to draw from, and the obvious half is labelled
        known = rows_of(rng, np.ones(2 * n_known, bool), case.area)
        known = known[np.argsort(-known.sum(axis=1), kind="stable")[:n_known]]
    else:
        known = rows_of(rng, np.ones(n_known, bool), case.area)
    X = np.vstack([known, rows_of(rng, truth, case.area)])
    truth = np.r_[np.ones(n_known, bool), truth]
    return np.repeat(X, case.repeats, axis=0), np.repeat(truth, case.repeats)


def few_labels(case: Case, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, hidden truth and which rows have a label."""
    n = (N_UNLABELLED // 2 + case.n_labels) // case.repeats
    truth = rng.random(n) < case.share
    n_known = max(4, case.n_labels // case.repeats)
    fewest = {"equal": n_known // 2, "skewed": 60}.get(case.labels, 2)
    truth[:fewest], truth[fewest : 2 * fewest] = True, False
    order = rng.permutation(n)
    if case.labels == "skewed":
        known = np.r_[np.flatnonzero(truth)[:60], np.flatnonzero(~truth)[:5]]
    elif case.labels == "equal":
        known = np.r_[np.flatnonzero(truth)[:fewest], np.flatnonzero(~truth)[:fewest]]
    else:  # at random, two of each class at least
        known = np.r_[np.arange(2), fewest + np.arange(2), 2 * fewest + np.arange(n_known - 4)]
    is_known = np.isin(np.arange(n), known)
    X = rows_of(rng, truth, case.area)
    return tuple(np.repeat(a[order], case.repeats, axis=0) for a in (X, truth, is_known))


def table_of(X: np.ndarray, y: np.ndarray) -> pd.DataFrame:
    """Rows and labels as a data frame."""
    return pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])]).assign(answer=y)


# -- runs --------------------------------------------------------------------------------------


def of_interval(value: float | None, low: float, high: float, truth: float) -> dict[str, float]:
    """An interval with its truth."""
    return {"value": value, "low": float(low), "high": float(high), "truth": float(truth)}


def run_prior(case: Case, budget: float) -> dict:
    X, truth = labelled_positives(case, case.rng)
    y = np.arange(len(X)) < case.n_labels
    found = estimate_prior(X, y, random_state=case.draw, n_jobs=1)
    share = truth[~y].mean()
    return {"intervals": {"prior": of_interval(found.prior, found.low, found.high, share)}}


def fitted(frame: pd.DataFrame, budget: float, **options: object) -> tuple[object, dict]:
    """A fit with a report, and the facts that its model file keeps, with seconds used."""
    since = time.perf_counter()
    found = fit_table(frame, "answer", time_budget=budget, **options)
    training = dict(found.metadata["training"])
    training["used"] = time.perf_counter() - since
    return found, training


def outcome(training: dict, budget: float) -> dict:
    """Verdict and seconds of a fit."""
    signal = training.get("signal") or {}
    facts = {"verdict": signal.get("outcome"), "seconds": training["used"] / max(budget, 1e-9)}
    facts["up_to"] = signal.get("up_to")
    for key in ("prior_contradiction", "notes"):
        facts[key] = training.get(key)
    return facts


def rank_of(ours: float, others: list[float]) -> float:
    """Rank of the delivered model among all methods, 1 if it is best; ties share a rank."""
    return (
        1.0
        + sum(o > ours + 1e-12 for o in others)
        + sum(abs(o - ours) < 1e-12 for o in others) / 2
    )


def run_positives(case: Case, budget: float) -> dict:
    X, truth = labelled_positives(case, case.rng)
    n_known = len(X) - int(N_UNLABELLED // case.repeats) * case.repeats
    y = np.where(np.arange(len(X)) < n_known, "yes", None)
    frame = table_of(X, y)
    found, training = fitted(frame, budget)
    hidden, free = truth[n_known:], slice(n_known, None)
    share, intervals = hidden.mean(), {}
    if training.get("prior_low") is not None:
        intervals["prior"] = of_interval(
            training["prior"], training["prior_low"], training["prior_high"], share
        )
    answers = found.predict(frame).iloc[free]
    marked = answers["positive"].to_numpy(dtype=bool) if "positive" in answers else None
    expected = training.get("expected") or {}
    if marked is not None and marked.any():
        precision, recall = hidden[marked].mean(), marked[hidden].mean() if hidden.any() else None
        for name, true in (("precision", precision), ("recall", recall)):
            if name in expected and true is not None:
                e = expected[name]
                intervals[name] = of_interval(e["value"], e["low"], e["high"], true)
    facts = outcome(training, budget) | {"intervals": intervals, "share": float(share)}
    scores = found.model.decision_function(frame.drop(columns="answer").iloc[free])
    if 0 < hidden.sum() < len(hidden):
        facts["ranking"] = roc_auc_score(hidden, scores)
        signal = training.get("signal") or {}
        if signal:
            implied = 1.0 - share / 2.0 - (1.0 - share) * (1.0 - facts["ranking"])
            intervals["held-out AUC"] = of_interval(
                signal["area"], signal["low"], signal["high"], implied
            )
        own = []
        for method in pu_methods(0):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = clone(method.estimator).fit(X, (np.arange(len(X)) < n_known).astype(int))
            own.append(roc_auc_score(hidden, decision_of(model, X[free])))
        facts["rank"] = rank_of(facts["ranking"], own)
        facts["rivals"] = len(own)
    if "probability" in answers and answers["probability"].notna().any():
        facts["calibration"] = calibration_error(
            hidden.astype(int), answers["probability"].to_numpy(dtype=float)
        )
        top = np.argsort(-answers["probability"].to_numpy(dtype=float), kind="stable")[:20]
        facts["top"] = {
            "probability": float(answers["probability"].iloc[top].mean()),
            "truth": float(hidden[top].mean()),
        }
    return facts


def run_classes(case: Case, budget: float) -> dict:
    X, truth, is_known = few_labels(case, case.rng)
    y = np.where(is_known, np.where(truth, "yes", "no"), None)
    frame = table_of(X, y)
    found, training = fitted(frame, budget)
    answers = found.predict(frame)["label"].to_numpy(dtype=object)[~is_known]
    right = float(np.mean((answers == "yes") == truth[~is_known]))
    intervals = {}
    expected = training.get("expected") or {}
    if "accuracy" in expected:
        e = expected["accuracy"]
        intervals["accuracy"] = of_interval(e["value"], e["low"], e["high"], right)
    facts = outcome(training, budget) | {"intervals": intervals, "accuracy": right}
    own = []
    labels = np.where(is_known, truth.astype(int), -1)
    for method in few_label_methods(0):
        rows = is_known if method.trains_on == "labels" else slice(None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = clone(method.estimator).fit(X[rows], labels[rows])
        own.append(float(np.mean(model.predict(X[~is_known]) == truth[~is_known])))
    facts["rank"], facts["rivals"] = rank_of(right, own), len(own)
    return facts


def run_unlike(case: Case, budget: float) -> dict:
    rng = case.rng
    X, truth, is_known = few_labels(case, rng)
    batch, day = rng.integers(0, 8, len(X)), rng.integers(0, 400, len(X))
    if case.labels == "batch":
        batch[is_known] = 0
    if case.labels == "day":
        day[is_known] = rng.integers(0, 40, is_known.sum())
    X = X + 0.5 * rng.normal(size=(8, N_COLUMNS))[batch]
    frame = table_of(X, np.where(is_known, np.where(truth, "yes", "no"), None))
    frame = frame.assign(batch=[f"B{k}" for k in batch], day=day)
    found, training = fitted(frame, budget)
    answers = found.predict(frame)["label"].to_numpy(dtype=object)[~is_known]
    right = float(np.mean((answers == "yes") == truth[~is_known]))
    unlike = training.get("labelled_rows") or {}
    facts = outcome(training, budget) | {"intervals": {}, "accuracy": right}
    return facts | {"unlike": unlike.get("unlike"), "column": unlike.get("column")}


def run_one_class(case: Case, budget: float) -> dict:
    rng = case.rng
    odd = rng.random(case.n_labels) < case.share
    X = np.repeat(rows_of(rng, odd, case.area), case.repeats, axis=0)
    frame = table_of(X, np.full(len(X), "normal"))
    options = {"clean": True} if case.labels == "clean" else {}
    found, training = fitted(frame, budget, **options)
    new = rows_of(rng, np.zeros(20_000, bool), case.area)
    scores = found.predict(table_of(new, None).drop(columns="answer"))["score"]
    rate = float(np.mean(scores < 0))
    intervals = {}
    for one in found.report.contents.findings.rates:
        if one.interval is not None and one.name.startswith("False alarm rate"):
            intervals["false alarms"] = of_interval(one.value, *one.interval, rate)
    return outcome(training, budget) | {"intervals": intervals, "rate": rate}


RUNS = {
    "prior": run_prior,
    "positives": run_positives,
    "classes": run_classes,
    "unlike": run_unlike,
    "one-class": run_one_class,
}


def run(case: Case, budget: float) -> dict:
    """Run a case and return its figures, or the error that ended it."""
    since = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = RUNS[case.part](case, budget)
        except Exception as error:  # one case must not end an afternoon
            found = {"error": f"{type(error).__name__}: {error}"}
    cpu = time.process_time() - since
    return {"name": case.name, **asdict(case), **found, "cpu": cpu, "load": os.getloadavg()[0]}


# -- report ------------------------------------------------------------------------------------


def strength(case: dict) -> str:
    """Signal of a case, in words."""
    names = {0.5: "none", 0.6: "weak", 0.65: "weak", 0.7: "weak", 0.8: "moderate"}
    return names.get(case["area"], "strong")


def coverage(found: list[dict]) -> list[list]:
    """Coverage and width of every interval, by part, labels, signal and share."""
    lines = [
        (f"{one['part']}, {name}", one["labels"], strength(one), str(one["share"]),
         interval["low"] <= interval["truth"] <= interval["high"],
         interval["high"] - interval["low"])
        for one in found
        for name, interval in one.get("intervals", {}).items()
    ]  # fmt: skip
    frame = pd.DataFrame(lines, columns=["what", "labels", "signal", "share", "holds", "width"])
    table = []
    for by in (["what", "labels"], ["what", "labels", "signal"], ["what", "labels", "share"]):
        for key, group in frame.groupby(by, sort=False):
            n, hits = len(group), int(group["holds"].sum())
            level = 0.99 if "AUC" in key[0] else LEVEL
            too_few = float(binom.cdf(hits, n, level))
            table.append([", ".join(key), n, hits / n, float(group["width"].mean()), too_few])
    return table


def verdicts(found: list[dict]) -> list[list]:
    """How often each verdict was given, by part, signal and share."""
    kept = [one for one in found if "verdict" in one and one["part"] in ("positives", "classes")]
    table = []
    for key in dict.fromkeys((one["part"], strength(one), one["repeats"]) for one in kept):
        own = [one for one in kept if (one["part"], strength(one), one["repeats"]) == key]
        said = [one["verdict"] for one in own]
        row = [f"{key[0]}, {key[1]} signal" + (f", rows {key[2]} times" if key[2] > 1 else "")]
        row += [len(own)] + [
            said.count(v) for v in ("signal", "no signal", "too few labels", None)
        ]
        silenced = [
            one for v, one in zip(said, own, strict=True)
            if v == "no signal" and one["area"] >= WORTHWHILE
        ]  # fmt: skip
        wrong = sum(v == "signal" and one["area"] == 0.5 for v, one in zip(said, own, strict=True))
        wrong += sum(one["share"] <= (one.get("up_to") or 1.0) for one in silenced)
        table.append([*row, wrong, len(silenced)])
    return table


def means(found: list[dict]) -> list[list]:
    """Means of ranks, calibration errors and seconds, by part, labels and signal."""
    table, parts = [], ("positives", "classes", "one-class")
    kept = [one for one in found if one["part"] in parts and "error" not in one]
    for key in dict.fromkeys((one["part"], one["labels"], strength(one)) for one in kept):
        own = [one for one in kept if (one["part"], one["labels"], strength(one)) == key]

        def mean(name, own=own):
            values = [one[name] for one in own if one.get(name) is not None]
            return float(np.mean(values)) if values else None

        tops = [one["top"] for one in own if "top" in one]
        gap = [t["probability"] - t["truth"] for t in tops]
        over = float(np.mean([one["seconds"] > 1.5 for one in own]))
        table.append(
            [", ".join(key), len(own), mean("rank"), mean("calibration"),
             float(np.mean(gap)) if gap else None, mean("seconds"), over]
        )  # fmt: skip
    return table


def flags(found: list[dict]) -> list[list]:
    """How often labelled rows are said to be unlike the rest, by what decided who was labelled."""
    kept, table = [one for one in found if one["part"] == "unlike" and "error" not in one], []
    for labels in dict.fromkeys(one["labels"] for one in kept):
        own = [one for one in kept if one["labels"] == labels]
        said = [one for one in own if one["unlike"]]
        named = sum(one["column"] == labels for one in said)
        table.append([labels, len(own), len(said), named, sum(o["unlike"] is None for o in own)])
    return table


def report(found: list[dict], folder: Path) -> None:
    """Write the tables as Markdown, and as entries for the results file."""
    errors = [one for one in found if "error" in one]
    tables = [
        ("hidden-truth-coverage", "Intervals of 90 % (held-out AUC: 99 %) that hold the truth",
         "quantity, labels, signal or share",
         ["cases", "coverage", "mean width", "P(this few or fewer)"],
         ["d", ".3f", ".3f", ".3g"], coverage(found)),
        ("hidden-truth-verdicts", "Verdicts", "part and true signal",
         ["cases", "signal", "no signal", "too few labels", "none", "wrong", "useful but silent"],
         ["d"] * 7, verdicts(found)),
        ("hidden-truth-unlike", "Labelled rows unlike the rest", "what decided on labels",
         ["cases", "said", "column named", "not compared"], ["d"] * 4, flags(found)),
        ("hidden-truth-means", "Ranks, probabilities and seconds", "part, labels, signal",
         ["cases", "mean rank", "calibration error", "top 20: probability minus truth",
          "seconds over budget", "share over 1.5 budgets"],
         ["d", ".2f", ".3f", ".3f", ".2f", ".2f"], means(found)),
    ]  # fmt: skip
    text, entries, hardware = (
        ["# Reports against hidden truth", machine_line(machine())],
        [],
        machine(),
    )
    for name, title, label, columns, formats, rows in tables:
        shown = [
            [
                row[0],
                *(
                    "" if v is None else format(v, f)
                    for v, f in zip(row[1:], formats, strict=True)
                ),
            ]
            for row in rows
        ]
        text += [f"## {title}", markdown_table([label, *columns], shown)]
        if rows:
            entries.append(
                results_file.entry(
                    name, columns, rows, unit="shares and counts", label=label, formats=formats,
                    program="hidden_truth.py", hardware=hardware["processor"],
                )
            )  # fmt: skip
    if errors:
        text += ["## Errors", *sorted({f"* {one['name']}: {one['error']}" for one in errors})]
    results_file.write(entries, folder, "hidden-truth")
    (folder / "hidden-truth.md").write_text("\n\n".join(text) + "\n", encoding="utf-8")
    print("\n\n".join(text))


def main() -> None:
    """Run what is missing, and report."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--part", nargs="+", choices=list(RUNS), default=list(RUNS))
    parser.add_argument(
        "--half", nargs="+", choices=["chosen", "shown"], default=["chosen", "shown"]
    )
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--budget", type=float, default=5.0, help="seconds of a fit")
    parser.add_argument("--report-only", action="store_true", help="of the cases that have run")
    parser.add_argument("--out", type=Path, default=Path("results"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / "hidden-truth.jsonl"
    done = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    found = {one["name"]: one for one in map(json.loads, done)}
    todo = [c for c in cases(args.part, args.draws) if c.half in args.half and c.name not in found]
    if todo and not args.report_only:
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # processes share the cores
            os.environ.setdefault(name, "1")
        spawn = multiprocessing.get_context("spawn")
        with (
            ProcessPoolExecutor(args.processes, mp_context=spawn) as pool,
            path.open("a", encoding="utf-8") as file,
        ):
            futures = [pool.submit(run, case, args.budget) for case in todo]
            for k, future in enumerate(as_completed(futures), 1):
                one = future.result()
                found[one["name"]] = one
                file.write(json.dumps(one, default=float) + "\n")
                file.flush()
                print(f"{k} of {len(todo)}: {one['name']}", flush=True)
    report([one for one in found.values() if one["half"] in args.half], args.out)


if __name__ == "__main__":
    main()
