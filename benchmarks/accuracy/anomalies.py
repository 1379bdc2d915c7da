"""A few confirmed anomalies and rows of one class: what they are worth.

17 ADBench sets; up to 600 normal rows train, columns are standardised by them, and 0, 1, 5 or 20
anomalies are confirmed (at most half of a set's). The other rows are scored: up to 1500 normal
rows and 500 anomalies. Methods that take no anomalies leave them out. Weakly supervised rivals are
XGBOD (of pyod, with xgboost), five networks of deepod (with torch, their default settings, and
from the first draw only, as they are slow), and a random forest on the labels alone. The DevNet of
pyod 3.6.7 compares outputs of shape (n, 1) with labels of shape (n,), so it learns nothing from
labels (AUC .03 on cardio), and isn't used.

``C_anomaly`` (10 times the cost of a normal row) and the rule for the width were chosen on the
sets in CHOSEN_ON, draws 0 to 2. The tables show SHOWN_ON, the other sets, and all of them, from
other draws. The rule: with 20 anomalies or more, the width of 1/d, 4/d, 16/d (d features) and
``neighbor_gamma`` whose exact leave-one-out decisions separate the anomalies best; with fewer,
``neighbor_gamma``.
"""

from __future__ import annotations

import time
from functools import lru_cache

import numpy as np
from shared.common import ADBENCH, group, load_set, mean, standardised
from study import Case, Setting, Study

CHOSEN_ON, SHOWN_ON = ADBENCH[::2], ADBENCH[1::2]
CONFIRMED, ENOUGH = (0, 1, 5, 20), 20
WIDE, NARROW, SVM, RULE = "SVDD, 1/d", "SVDD, neighbor_gamma", "OneClassSVM", "SVDD, width by rule"
MIDDLE, BAGS = "SVDD, 4/d", "SVDDEnsemble (leaves them out)"
XGBOD, FOREST, DEVNET = "XGBOD (pyod)", "random forest on labels", "DevNet (deepod)"
DEEPSAD, FEAWAD = "DeepSAD (deepod)", "FeaWAD (deepod)"
PRENET, ROSAS = "PReNet (deepod)", "RoSAS (deepod)"
DEEP = (DEVNET, DEEPSAD, FEAWAD, PRENET, ROSAS)
METHODS = (WIDE, MIDDLE, NARROW, RULE, SVM, BAGS, XGBOD, *DEEP, FOREST)


@lru_cache(maxsize=1)
def parts(folder, name, draw, confirmed, quick):
    """Normal training rows, confirmed anomalies, rows to score, and which of these are odd."""
    X, y = load_set(folder, f"adbench_{name}")
    rng = np.random.default_rng([draw, ADBENCH.index(name)])
    normal, odd = (rng.permutation(np.flatnonzero(y == value)) for value in (0, 1))
    n = min(100 if quick else 600, len(normal) // 2)
    train, others = normal[:n], normal[n:][:1500]
    known, rest = odd[: min(confirmed, len(odd) // 2)], odd[len(odd) // 2 :][:500]
    train, known, others, rest = standardised(X[train], X[known], X[others], X[rest])
    truth = np.arange(len(others) + len(rest)) >= len(others)
    return train, known, np.vstack([others, rest]), truth


def widths(normal):
    from fewlabels.model_selection import neighbor_gamma

    d = normal.shape[1]
    return {"1/d": 1 / d, "4/d": 4 / d, "16/d": 16 / d, "neighbor_gamma": neighbor_gamma(normal)}


def by_rule(normal, X, is_known):
    """SVDD of the width that leave-one-out decisions favour, or the narrow one."""
    from sklearn.metrics import roc_auc_score

    from fewlabels import SVDD

    candidates = widths(normal)
    if is_known.sum() < ENOUGH:
        return SVDD(gamma=candidates["neighbor_gamma"]).fit(X, anomalies=is_known)
    found = []
    for gamma in candidates.values():
        model = SVDD(gamma=gamma).fit(X, anomalies=is_known)
        found.append((roc_auc_score(is_known, -model.leave_one_out_decisions()), model))
    return max(found, key=lambda pair: round(pair[0], 6))[1]


def scores(method, normal, known, rows):
    """How odd a method finds rows; None where it can't be fitted or isn't installed."""
    from sklearn.ensemble import RandomForestClassifier

    from fewlabels import SVDD, OneClassSVM, SVDDEnsemble

    X = np.vstack([normal, known])
    is_known = np.arange(len(X)) >= len(normal)
    if method == RULE:
        return -by_rule(normal, X, is_known).score_samples(rows)
    if method in (WIDE, MIDDLE, NARROW):
        gamma = widths(normal)[method.split(", ")[1]]
        return -SVDD(gamma=gamma).fit(X, anomalies=is_known).score_samples(rows)
    if method == SVM:
        return -OneClassSVM(nu=0.05).fit(X, anomalies=is_known).score_samples(rows)
    if method == BAGS:
        return -SVDDEnsemble().fit(normal).score_samples(rows)
    if not is_known.any():
        return None
    if method == FOREST:
        forest = RandomForestClassifier(200, class_weight="balanced", random_state=0)
        return forest.fit(X, is_known).predict_proba(rows)[:, 1]
    try:
        if method in DEEP:
            from deepod.models import tabular

            kind = getattr(tabular, method.split()[0])
            batch = min(128 if method.startswith("RoSAS") else 64, len(normal) // 2)
            rival = kind(device="cpu", verbose=0, random_state=0, batch_size=batch)
        else:
            from pyod.models.xgbod import XGBOD as Rival

            rival = Rival(random_state=0, n_jobs=1)
    except ImportError:
        return None
    try:
        return rival.fit(X, is_known.astype(int)).decision_function(rows)
    except ValueError:  # some networks of deepod can't sample from a single anomaly
        if method not in DEEP or len(known) > 1:
            raise
        return None


def measure(folder, name, draw, confirmed, method, quick):
    """ROC AUC on held-out rows."""
    from sklearn.metrics import roc_auc_score

    normal, known, rows, truth = parts(folder, name, draw, confirmed, quick)
    since = time.process_time()
    odd = scores(method, normal, known, rows)
    if odd is None:  # it can't be fitted to so few anomalies
        return []
    return {"auc": roc_auc_score(truth, odd), "anomalies": len(known),
            "cpu_seconds": time.process_time() - since}  # fmt: skip


def cases(options):
    for name in options.sets:
        for draw in options.draws:
            for confirmed in CONFIRMED:
                for method in options.methods:
                    is_again = method == BAGS and confirmed
                    if is_again or (method in DEEP and draw != options.draws[0]):
                        continue
                    key = {"set": name, "draw": draw, "confirmed": confirmed, "method": method}
                    yield Case(key, measure, (options.data, *key.values(), options.quick))


# -- the report ----------------------------------------------------------------------------------


def mean_auc(found, sets, method, confirmed):
    """Means over draws, by set."""
    by_set = group([f for f in found if f["method"] == method and f["confirmed"]
                    == (0 if method == BAGS else confirmed)], "set")  # fmt: skip
    return np.array([mean(by_set.get(name, ()), "auc") or np.nan for name in sets])


def summary(found, names):
    """Mean AUC of each method by confirmed anomalies."""
    for method in METHODS:
        means = [float(mean_auc(found, names, method, k).mean()) for k in CONFIRMED]
        if np.isfinite(means).any():
            yield [method, *(m if np.isfinite(m) else None for m in means)]


def entries(results):
    names = [name for name in SHOWN_ON if results.where(set=name)]
    return [results.entry(
        "anomalies", [*map(str, CONFIRMED)], list(summary(results.records, names)),
        unit="ROC AUC", formats=[".3f"] * 4,
        label=f"confirmed anomalies, {len(names)} sets not used for choosing",
    )] if names else []  # fmt: skip


def files(options):
    return [f"adbench_{name}" for name in options.sets]


STUDY = Study(
    __doc__, cases, entries=entries, data="required", files=files,
    choices={"sets": ADBENCH, "methods": METHODS},
    settings={"draws": Setting([10, 11], "seeds of draws")},
    quick={"sets": ADBENCH[-1:], "draws": [10]},
)  # fmt: skip
