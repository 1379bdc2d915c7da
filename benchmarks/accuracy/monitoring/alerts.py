"""Alerts on single rows of real sets with 1 % anomalies: false discoveries, and what is found."""

import numpy as np
from sklearn.ensemble import IsolationForest

from fewlabels import SVDDEnsemble
from fewlabels.monitoring import LORD, SAFFRON

from .rates import watch

# The first three were looked at when the rules' horizon was chosen, the others not.
LOOKED_AT = ("shuttle", "http", "magic_gamma")
OTHERS = ("annthyroid", "pageblocks", "satellite")
SHARE, CALIBRATION, ROWS = 0.01, 5000, 10_000
RULES = {"LORD": LORD, "SAFFRON": SAFFRON}
LEVELS = (0.05, 0.1)


def pools(folder):
    """Scores of normal rows and of anomalies by models of other normal rows."""
    for name in (*LOOKED_AT, *OTHERS):
        with np.load(folder / f"adbench_{name}.npz") as file:
            X, y = file["X"].astype(float), file["y"]
        rng = np.random.default_rng(0)
        normal, odd = (rng.permutation(np.flatnonzero(y == value)) for value in (0, 1))
        train, rest = X[normal[:1000]], normal[1000:21_000]
        for title, model in (
            (name, SVDDEnsemble(random_state=0)),
            (f"{name}, forest", IsolationForest(random_state=0)),
        ):
            model.fit(train)
            yield title, model.score_samples(X[rest]), model.score_samples(X[odd[:2000]])


def run(lines, folder, runs, quick):
    rows = 1000 if quick else ROWS
    for name, normal, odd in pools(folder):
        for rule, make in RULES.items():
            for q in LEVELS:
                for k in range(runs):
                    if lines.has(set=name, rule=rule, q=q, run=k):
                        continue
                    rng = np.random.default_rng([k, 3])
                    truth = rng.random(rows) < SHARE
                    scores = np.where(truth, rng.choice(odd, rows), rng.choice(normal, rows))
                    calibration = rng.choice(normal, CALIBRATION)
                    monitor = watch(calibration, k, alerts=make(q=q))
                    alerts = monitor.update_scores(scores).alerts
                    lines.add(
                        set=name, rule=rule, q=q, run=k, alerts=int(alerts.sum()),
                        false=int((alerts & ~truth).sum()), anomalies=int(truth.sum()),
                    )  # fmt: skip
        print("alerts", name, flush=True)


def summary(lines, names, rule, q):
    """Mean share of false alerts with its standard error over streams, and anomalies found."""
    rows = [row for row in lines.where(rule=rule, q=q) if row["set"] in names]
    shares = np.array([row["false"] / max(1, row["alerts"]) for row in rows])
    found = [(row["alerts"] - row["false"]) / max(1, row["anomalies"]) for row in rows]
    return {
        "streams": len(rows), "false": float(shares.mean()),
        "error": float(shares.std(ddof=1) / np.sqrt(len(shares))), "found": float(np.mean(found)),
    }  # fmt: skip
