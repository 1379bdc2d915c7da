"""Few labels of two classes: accuracy on held-out labelled rows."""

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from ...labels.semi_supervised import read_semi_labels
from ..splitters import LabeledKFold
from .methods import MAJORITY, few_label_methods
from .run import Method, run, sample

# Folds are repeated until about so many labels were predicted.
_FOLDS, _PREDICTIONS, _MOST_REPEATS = 5, 200, 10
# Most labelled rows that take part.
_MOST_LABELLED = 2000
_OURS = "S3VM"
# Unlabelled rows that are called; shares of them that differ by more than this are spoken of.
_CALLED, _APART = 500, 0.1


def compare_few_labels(machine, rows, search, rng, class_names=None):
    """Scores of ours and of the baselines; and why not when there are none."""
    label, classes, _ = read_semi_labels(rows.y, machine.unlabeled)
    coded = np.where(label == 0, np.nan, label > 0)
    kept, told = sample(label != 0, _MOST_LABELLED, "labelled", rng)
    labelled = kept[label[kept] != 0]
    fewest = int(min(np.sum(label[labelled] > 0), np.sum(label[labelled] < 0)))
    if fewest < 2:
        return None, (
            f"a class has {fewest} labelled row, and none is left to test with when it is trained "
            "on; label a second one"
        )
    folds = min(_FOLDS, fewest)
    repeats = int(np.clip(np.ceil(_PREDICTIONS / len(labelled)), 1, _MOST_REPEATS))
    splitter = LabeledKFold(
        folds, shuffle=True, n_repeats=repeats, random_state=rng.randint(2**31 - 1),
        unlabeled=None,
    )  # fmt: skip
    splits = [(kept[a], kept[b]) for a, b in splitter.split(kept, coded[kept])]
    methods = [Method(_OURS, machine), *few_label_methods(rng.randint(2**31 - 1))]

    def evaluate(method, fold, train, test):
        known = ~np.isnan(coded[train])
        encoded, held = rows.encoded(fold, train, test)
        estimator = clone(method.estimator)
        if method is methods[0]:
            estimator.set_params(unlabeled=None, verbose=False)
            estimator.fit(encoded, coded[train])
        elif method.learns_from == "labels":
            estimator.fit(_safe_indexing(encoded, np.flatnonzero(known)), coded[train][known])
        else:
            estimator.fit(encoded, np.where(known, coded[train], -1).astype(int))
        free = _safe_indexing(encoded, np.flatnonzero(~known)[:_CALLED])
        share = np.mean(estimator.predict(free) == 1) if free.shape[0] else np.nan
        return estimator.predict(held) == coded[test], float(share)

    found = run(methods, splits, evaluate, search)
    running, common = found.running, found.folds
    if running:
        hits = np.full((len(running), len(common), len(coded)), np.nan)
        for i, k in enumerate(running):
            for j, fold in enumerate(common):
                hits[i, j, splits[fold][1]] = found.outputs[k][fold][0]
        found.fill_hits(hits[:, :, np.isfinite(hits[0]).any(axis=0)], 1.0 / (folds - 1))
    found.protocol = (
        f"Accuracy on held-out labelled rows: {len(common)} folds ({folds} parts of "
        f"{len(labelled)} labelled rows, shuffled anew each time), the unlabelled rows kept in "
        f"training.{told}"
    )
    _tell_shares(found, float(np.mean(coded[labelled])), (class_names or classes)[1])
    return found, ""


def _tell_shares(found, labelled_share, name):
    """Note how many unlabelled rows each method calls the second class, which no score shows."""
    shares = {k: np.mean([found.outputs[k][f][1] for f in found.folds]) for k in found.running}
    if not shares or not np.isfinite(shares[0]):
        return
    for k, share in shares.items():
        found.notes[k] = f"calls {100 * share:.0f} % of the unlabelled rows {name}"
    others = [share for k, share in shares.items() if k and found.methods[k].name != MAJORITY]
    if others and abs(shares[0] - np.median(others)) > _APART:
        found.caution = (
            f"Caution: it calls {100 * shares[0]:.0f} % of the unlabelled rows {name}, the "
            f"baselines {100 * np.median(others):.0f} % (median), and of the labelled rows "
            f"{100 * labelled_share:.0f} % are. If rows were not labelled at random, held-out "
            "labels do not show which share is right; look at the shares, and set balance."
        )
