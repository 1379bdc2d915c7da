"""Tables of what ``labelling_annotators.py`` ran."""

import numpy as np
from scipy.stats import rankdata

from .sets import CHOSEN_ON, TEXTS

OURS = "mixed"
FIRST = (20, 60, 200)  # answers over which accuracy is averaged
# What a table calls the ways of asking.
NAMES = {
    "mixed": "`fewlabels label`",
    "random": "`fewlabels label --ask random`",
    "mixed rbf": "`fewlabels label --kernel rbf`",
    "random rbf": "`fewlabels label --ask random --kernel rbf`",
    "forest": "random forest",
    "trees": "extremely random trees",
    "svc": "SVC",
    "logistic": "logistic regression",
    "bayes": "naive Bayes",
    "skactiveml": "scikit-activeml",
    "modal": "modAL",
    "modal-margin": "modAL, margin",
    "small-text": "small-text",
    "small-text-ties": "small-text, breaking ties",
    "linear": "linear SVM",
}


def entries(rows, step):
    """Arguments of entries: the unseen half, and intervals of the error."""
    rows = [r for r in rows if r["set"] not in CHOSEN_ON]
    lines = []
    for kind in ("tables", "texts"):
        some = [r for r in rows if (r["set"] in TEXTS) == (kind == "texts")]
        for answers, held, n, *figures in _covered(some, OURS):
            lines.append([f"{kind}, {answers}", f"{held} of {n}", *figures])
        asks, keys, areas = _areas(some, step)
        if keys:
            yield _accuracy_entry(kind, asks, keys, areas)
    if lines:
        columns = ["held", "mean shown", "mean true", "mean width", "random rows"]
        yield "labelling-intervals", columns, lines, {
            "unit": "see columns", "label": "sets, answers",
            "formats": ["", ".3f", ".3f", ".2f", ".0f"],
        }  # fmt: skip


def _accuracy_entry(kind, asks, keys, areas):
    sets, lines = sorted({name for name, _ in keys}), []
    for place in np.argsort(-areas[FIRST[-1]].mean(axis=0)):
        ranks = [rankdata(-areas[n], axis=1)[:, place].mean() for n in FIRST]
        means = [areas[n][:, place].mean() for n in FIRST]
        cells = [round(float(one), 4) for one in (*means, *ranks)]
        lines.append([named(asks[place]), *cells])
    columns = [f"{what}, {n}" for what in ("accuracy", "rank") for n in FIRST]
    return f"labelling-{kind}", columns, lines, {
        "unit": "mean accuracy over the first answers",
        "label": f"{len(keys)} draws of {len(sets)} {kind}: rows chosen by, model",
        "formats": [".3f"] * len(FIRST) + [".1f"] * len(FIRST),
        "note": f"Unseen half: {', '.join(sets)}.",
    }  # fmt: skip


def named(ask):
    """A way of asking in words."""
    if ask in NAMES:
        return NAMES[ask]
    rule, model = ask.split()
    return f"{'random rows' if rule == 'random' else NAMES[rule]}, {NAMES[model]}"


def _areas(rows, step):
    """Ways of asking, (set, draw) that all have, and mean accuracies of shape (keys, asks)."""
    asks = list(dict.fromkeys(r["ask"] for r in rows))
    curves = {(r["ask"], r["set"], r["draw"]): np.array(r["accuracy"]) for r in rows}
    keys = sorted({(s, d) for _, s, d in curves if all((a, s, d) in curves for a in asks)})
    areas = {
        n: np.array([[curves[ask, *key][: n // step].mean() for ask in asks] for key in keys])
        for n in FIRST
    }
    return asks, keys, areas


def _covered(rows, ask):
    """Answers; intervals that held the true error, all; means of error, true error, width, n."""
    looks = [look for r in rows if r["ask"] == ask for look in r.get("looks", [])]
    for answers in sorted({look["answers"] for look in looks}):
        here = [look for look in looks if look["answers"] == answers]
        held = sum(look["low"] <= look["true"] <= look["high"] for look in here)
        means = [round(float(np.mean([look[key] for look in here])), 4)
                 for key in ("value", "true", "low", "high", "n")]  # fmt: skip
        value, true, low, high, n = means
        yield answers, held, len(here), value, true, round(high - low, 4), n


def stops(rows, step):
    told = [r for r in rows if r["stopped"]]
    curves = [(np.array(r["accuracy"]), max(1, r["stopped"] // step)) for r in told]
    gained = np.array([curve[-1] - curve[at - 1] for curve, at in curves])
    soon = np.array([curve[min(at + 20 // step, len(curve)) - 1] - curve[at - 1]
                     for curve, at in curves])  # fmt: skip
    spent = step * np.array([len(curve) - at for curve, at in curves])
    if not len(told):
        return f"The advice to stop came in none of {len(rows)} runs."
    return (
        f"The advice to stop came in {len(told)} of {len(rows)} runs, after "
        f"{np.median([r['stopped'] for r in told]):.0f} answers (median). Answers after it: "
        f"{spent.mean():.0f}; accuracy they gained: mean {gained.mean():+.4f}, quartiles "
        f"{np.round(np.quantile(gained, [0.25, 0.5, 0.75]), 4).tolist()}, most {gained.max():+.4f}"
        f"; above one point in {np.sum(gained > 0.01)}. The next twenty: mean {soon.mean():+.4f}, "
        f"most {soon.max():+.4f}, above one point in {np.sum(soon > 0.01)}."
    )
