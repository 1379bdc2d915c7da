"""Do the intervals of a report contain the truth as often as they say?

pu   Positives and unlabelled rows: 100 labelled positives with even seeds, 40 with odd ones, and
     800 unlabelled rows. Precision and recall of the marked unlabelled rows, and the class prior.
few  Few labels of two or more classes: 40 labels with even seeds, 20 with odd ones (twice as many
     of several classes), and 400 unlabelled rows. Accuracy on the unlabelled rows.

Each draw goes through fit_table without a search for settings (time_budget=0), and its report is
compared with the hidden labels. Intervals have a nominal coverage of 90 %. Sets of more than 60
columns are reduced to 40 principal components, so that a fit takes a second or two. Rules were
chosen on the sets of the first half, with seeds 0 and 1; the second half is for reporting.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from shared import pu_data
from shared.common import load_set, mean, standardised
from sklearn.decomposition import PCA
from study import Case, Setting, Study

from fewlabels import fit_table

# Shuttle without its largest class is separable: its intervals are too easy.
PU = {k: v for k, v in pu_data.REAL_SETS.items() if k != "shuttle, not Rad Flow"} | {
    "cardio": pu_data.RealSet("adbench_cardio", (1,)),
    "landsat": pu_data.RealSet("adbench_landsat", (1,)),
}
# File and positive classes; None keeps all classes.
FEW = {
    **dict.fromkeys(
        ["australian", "diabetes", "heart_statlog", "house_votes", "ionosphere",
         "liver_disorders", "clean1_musk", "spectf"]
    ),
    "adbench_magic_gamma": (1,), "adbench_spambase": (1,), "bank_additional": (1,),
    "cod_rna": (1,), "phishing": (1,), "mushrooms": (2,), "adbench_satellite": (1,),
    "a9a": (1,), "ijcnn1": (1,), "adbench_annthyroid": (1,), "adbench_waveform": (1,),
    "usps": None, "mnist": None,
}  # fmt: skip
_COLUMNS, _COMPONENTS = 60, 40
QUANTITIES = ["precision", "recall", "prior", "accuracy"]


def reduced(X):
    """Rows of few columns."""
    if X.shape[1] <= _COLUMNS:
        return X
    return PCA(_COMPONENTS, random_state=0).fit_transform(X)


def contents_of(X, y, method):
    """Estimator and findings of a report, without a search for settings."""
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])]).assign(y=y)
    found = fit_table(frame, "y", method=method, time_budget=0, baselines=False)
    return found.model[-1], found.report.contents.findings


def of_pu(folder, name, seed):
    """Promised values and intervals of a draw, with the truth, by quantity."""
    pu_data.REAL_SETS.setdefault(name, PU[name])
    draw = pu_data.draw_real(folder, name, seed, (100, 40)[seed % 2], 800, 0)
    y = np.where(draw.y == 1, "yes", None)
    model, found = contents_of(reduced(draw.X), y, "pusvm")
    marked = (model.transduction_ == model.classes_[1])[draw.n_positive :]
    truth = {
        "precision": draw.truth[marked].mean() if marked.any() else np.nan,
        "recall": marked[draw.truth].mean(),
        "prior": draw.prior,
    }
    rates = dict(zip(("precision", "recall"), found.rates, strict=False))
    return truth, rates | {"prior": found.prior}


def of_few(folder, name, seed):
    """The same for few labels."""
    rng = np.random.default_rng(seed)
    X, y = load_set(folder, name)
    y = y if FEW[name] is None else np.isin(y, FEW[name])
    truth = np.unique(y, return_inverse=True)[1]
    n_labels = (40, 20)[seed % 2] * (2 if truth.max() > 1 else 1)
    order = rng.permutation(len(truth))[: n_labels + 400]
    X, truth = X[order], truth[order]
    X = reduced(X) if X.shape[1] > _COLUMNS else standardised(X)[0]
    labelled = rng.permutation(len(truth))[:n_labels]
    while np.bincount(truth[labelled], minlength=truth.max() + 1).min() < 2:
        labelled = rng.permutation(len(truth))[:n_labels]
    names = np.array([f"class {k}" for k in range(truth.max() + 1)], dtype=object)
    y = np.full(len(truth), None, dtype=object)
    y[labelled] = names[truth[labelled]]
    model, found = contents_of(X, y, "s3vm")
    free = np.setdiff1d(np.arange(len(truth)), labelled)
    right = np.mean(model.transduction_[free] == model.classes_[truth[free]])
    return {"accuracy": right}, {"accuracy": found.rates[0]} if found.rates else {}


def measure(folder, part, name, seed):
    """Values and intervals of a draw, with the truth."""
    truth, rates = (of_pu if part == "pu" else of_few)(folder, name, seed)
    found = []
    for quantity, value in truth.items():
        rate = rates.get(quantity)
        if rate is not None and np.isfinite(value):
            low, high = rate.interval
            found.append({
                "quantity": quantity, "promised": rate.value, "low": low, "high": high,
                "truth": float(value), "holds": float(low <= value <= high), "width": high - low,
            })  # fmt: skip
    return found


PARTS = {"pu": PU, "few": FEW}


def cases(options):
    for seed in options.seeds:
        for part in options.parts:
            for k, name in enumerate(PARTS[part]):
                if name in options.sets:
                    key = {"part": part, "half": ("first", "second")[k % 2], "set": name}
                    yield Case(key | {"seed": seed}, measure, (options.data, part, name, seed))


def entries(results):
    rows = []
    for quantity in QUANTITIES:
        some = [r for r in results.where(quantity=quantity) if r["half"] == "second"]
        if some:
            title = "accuracy, few labels" if quantity == "accuracy" else quantity
            title = "class prior" if quantity == "prior" else title
            rows.append([title, len(some), mean(some, "holds"), mean(some, "width")])
    return [results.entry("promises-pu", ["fits", "coverage", "mean width"], rows,
                          label="nominal 90 % intervals", unit="share of fits",
                          formats=["d", ".2f", ".2f"])]  # fmt: skip


STUDY = Study(
    __doc__, cases, entries=entries, data="required",
    choices={"parts": list(PARTS), "sets": [*PU, *FEW]},
    settings={"seeds": Setting([2, 3], "seeds of draws")},
    quick={"sets": [*list(PU)[:1], *list(FEW)[:1]], "seeds": [2]},
)  # fmt: skip
