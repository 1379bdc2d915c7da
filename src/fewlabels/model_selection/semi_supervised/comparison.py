"""Few labels of two or more classes: accuracy on held-out labelled rows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from ..._typing import AnyArray, BoolArray, FloatArray, IntArray, RowMatrix
from ...baselines.candidates import Candidates, candidate_methods
from ...baselines.methods import (
    MAJORITY,
    ComparedMethod,
    methods_to_compare,
    semi_supervised_methods,
)
from ...data.labels.semi_supervised import (
    class_indices,
    read_ratio,
    read_semi_labels,
    shares_by_code,
)
from ...rows.grouped_folds import count_once, kinds_of_groups, take_groups
from ...semi_supervised.s3vm import S3VM
from ..comparison.folds import (
    NO_CHANGE_EXPECTED,
    ComparedRows,
    Scores,
    choose_rows,
    folds_in_words,
    run,
)
from ..comparison.method_comparison import MethodComparison
from ..splitters import LabeledKFold
from ..tuning.search import Search

_FOLDS = 5
# Folds are repeated until about so many labels were predicted.
_PREDICTIONS = 200
# Folds are repeated so often at least: intervals of few folds are wide.
_MIN_REPEATS = 3
# Folds are repeated so often at most.
_MAX_REPEATS = 10
# Passes over the labels after which the comparison may end: the interval of one is wide.
_MIN_PASSES = 2
# Most labelled rows that take part.
_MAX_LABELLED_ROWS = 2000
# Unlabelled rows that are predicted at most.
_MAX_PREDICTED_ROWS = 500
# Predicted shares that differ by more than this are worth a caution.
_MAX_SHARE_DIFFERENCE = 0.1
# Most classes that a note on these shares names.
_MAX_NAMED_CLASSES = 5


def compare(
    model: S3VM,
    rows: ComparedRows,
    search: Search,
    rng: np.random.RandomState,
    *,
    known_other: RowMatrix | None = None,
    class_names: Sequence[str] | None = None,
    candidates: Candidates,
) -> MethodComparison:
    """Score ours and the baselines."""
    comparison = MethodComparison(model.task, f"{model.task.score} on held-out labelled rows")
    assert rows.y is not None  # the task takes labels
    label, classes, _ = read_semi_labels(rows.y, model.unlabeled)
    coded = class_indices(label, len(classes)).astype(float)
    rows.find_groups(coded.astype(int))
    coded[coded < 0] = np.nan
    kept, sample_note = choose_rows(label != 0, _MAX_LABELLED_ROWS, "labelled", rng)
    labelled = kept[label[kept] != 0]
    of_groups = kinds_of_groups(coded[labelled].astype(int), take_groups(rows.groups, labelled))
    sizes = np.bincount(of_groups, minlength=len(classes))
    # Of several classes those with one label are trained on only.
    has_single_label = np.isin(coded, np.flatnonzero(sizes < 2)) & (len(classes) > 2)
    tested = sizes[sizes > 1] if len(classes) > 2 else sizes
    fewest = int(min(tested, default=1))
    if fewest < 2:
        why = (
            f"a class has only {fewest} labelled row, so none can be held out; label a second one"
        )
        return replace(comparison, why_not=why)
    folds = min(_FOLDS, fewest)
    n_labels = len(count_once(labelled, np.zeros(len(label)), rows.groups))
    repeats = max(_MIN_REPEATS, int(np.ceil(_PREDICTIONS / n_labels)))
    repeats = min(repeats, _MAX_REPEATS)
    splitter = LabeledKFold(
        folds,
        shuffle=True,
        n_repeats=repeats,
        random_state=rng.randint(2**31 - 1),
        unlabeled=None,
    )
    held = np.where(has_single_label, np.nan, coded)
    splits = rows.splits(splitter, kept, held, np.isnan(held))
    model = _with_coded_classes(model, classes)
    seed = rng.randint(2**31 - 1)
    own = candidate_methods(candidates, model.task, seed)
    methods = methods_to_compare(model, [*semi_supervised_methods(seed), *own])

    def evaluate(
        method: ComparedMethod, fold: int, train: IntArray, test: IntArray
    ) -> tuple[BoolArray, FloatArray]:
        known = ~np.isnan(coded[train])
        encoded, held = rows.encode(fold, train, test)
        estimator = clone(method.estimator)
        if method is methods[0]:
            estimator.set_params(unlabeled=None)
            estimator.fit(encoded, coded[train])
        elif method.trains_on == "labels":
            labelled_rows = _safe_indexing(encoded, np.flatnonzero(known))
            estimator.fit(labelled_rows, coded[train][known].astype(int))
        else:
            estimator.fit(encoded, np.where(known, coded[train], -1).astype(int))
        free = _safe_indexing(encoded, np.flatnonzero(~known)[:_MAX_PREDICTED_ROWS])
        called = np.full(len(classes), np.nan)
        if free.shape[0]:
            called = np.mean(estimator.predict(free)[:, None] == np.arange(len(classes)), axis=0)
        return estimator.predict(held) == coded[test], called

    ratio = 1.0 / (folds - 1)

    def fill(scores: Scores) -> None:
        hits = np.full((len(scores.running), len(scores.folds), len(coded)), np.nan)
        for i, k in enumerate(scores.running):
            for j, fold in enumerate(scores.folds):
                hits[i, j, splits[fold][1]] = scores.outputs[k][fold][0]
        scores.fill_hits(hits[:, :, np.isfinite(hits[0]).any(axis=0)], ratio)

    def find_stop_reason(scores: Scores) -> str:
        if len(scores.folds) < _MIN_PASSES * folds:
            return ""
        fill(scores)
        return NO_CHANGE_EXPECTED if scores.is_decided(folds, len(splits)) else ""

    def finish(scores: Scores) -> None:
        if scores.running:
            fill(scores)
        scores.protocol = (
            f"Accuracy on held-out labelled rows: {folds_in_words(scores.folds)} ({folds} parts "
            f"of {n_labels} labelled rows, reshuffled each time). The unlabelled rows are "
            f"used for training.{sample_note}"
        )
        _note_predicted_shares(scores, sizes / sizes.sum(), class_names or classes)

    scores = run(methods, splits, evaluate, search, find_stop_reason=find_stop_reason, every=folds)
    return replace(comparison, scores=scores, finish=finish)


def _with_coded_classes(model: S3VM, classes: AnyArray) -> S3VM:
    """Return a model whose settings name classes by their codes."""
    balance = getattr(model, "balance", None)
    if isinstance(balance, Mapping):
        coded_balance = shares_by_code(balance, classes, np.arange(float(len(classes))))
        model = clone(model).set_params(balance=coded_balance)
    ratio = getattr(model, "class_ratio", None)
    if ratio is not None and not isinstance(ratio, str):
        model = clone(model).set_params(class_ratio=read_ratio(ratio, classes))
    return model


def _note_predicted_shares(
    scores: Scores, labelled_shares: FloatArray, names: Sequence[str] | AnyArray
) -> None:
    """Note how many unlabelled rows each method calls which class, which no score shows."""
    shares = {
        k: np.mean([scores.outputs[k][f][1] for f in scores.folds], axis=0) for k in scores.running
    }
    if not shares or not np.isfinite(shares[0]).all():
        return
    two = len(names) == 2
    for k, share in shares.items():
        first, *more = [1] if two else np.argsort(-share, kind="stable")[:_MAX_NAMED_CLASSES]
        rest = "".join(f", {100 * share[c]:.0f} % {names[c]}" for c in more)
        scores.notes[k] = (
            f"calls {100 * share[first]:.0f} % of the unlabelled rows {names[first]}{rest}"
        )
    others = [share for k, share in shares.items() if k and scores.methods[k].name != MAJORITY]
    if not others:
        return
    usual = np.median(others, axis=0)
    worst = 1 if two else int(np.argmax(np.abs(shares[0] - usual)))
    if abs(shares[0][worst] - usual[worst]) > _MAX_SHARE_DIFFERENCE:
        scores.caution = (
            f"Caution: it predicts {100 * shares[0][worst]:.0f} % of the unlabelled rows as "
            f"{names[worst]}, the baselines {100 * usual[worst]:.0f} % (median), and of the "
            f"labelled rows {100 * labelled_shares[worst]:.0f} % are. If rows were not labelled "
            "at random, held-out labels do not show which share is right; look at the shares, "
            "and set balance."
        )
