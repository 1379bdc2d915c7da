"""Settings of an S3VM on a table of features: trees first, unlabelled rows where they help."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm

from ..._typing import FloatArray, RowMatrix, VectorLike
from ...calibration.curve import ClassCurves, Curve
from ...calibration.fit_curves import curve_of_labels, curves_of_classes
from ...class_prior import ClassRatio, label_shift
from ...class_prior.frequent_class import estimate_from_frequent_class, is_skewed
from ...data.units import explain_feature_table, is_feature_table
from ...kernels import Manifold
from ...kernels.parameters import resolve_gamma
from ...semi_supervised.arguments import uses_label_ratio
from ...semi_supervised.s3vm import S3VM
from ..tuning.result import Decision, SearchCurve, UnlabeledRows
from ..tuning.search import Search, Trial, make_trials
from .labelled_rows import MIN_LEAD_IN_ERRORS, LabelledRows

# Settings that a user may leave to the choice.
CHOSEN = ("kernel", "gamma", "C", "C_star")
# Unlabelled rows that take part in a trial at most.
_MAX_UNLABELLED_ROWS = 1500
# Unlabelled rows whose decisions place a threshold.
_MAX_SCORED_ROWS = 500
# Numbers of labels per class that differ by no more than this share are equal: somebody labelled
# so many of each class, whatever their shares among all rows are.
_MAX_SHARE_OF_EQUAL = 0.05
# Fewer labels of a class may be equally many by chance.
_MIN_EQUAL_LABELS = 4
# How a candidate is trained.
_LABELS_ONLY = "labels alone"
_WITH_UNLABELLED = "with unlabelled rows"
CURVE = SearchCurve("C_star", "accuracy", ["model", "kernel"], "Held-out labelled rows")


class _Candidate(NamedTuple):
    """A row of the table, and the parameters that it means."""

    model: str
    kernel: str
    parameters: dict[str, Any]


def is_for_tables(estimator: S3VM, X: RowMatrix) -> bool:
    """Return whether rows are a table of features, and these settings are left at defaults."""
    default = S3VM()
    is_left = estimator.solver == "auto" and all(
        isinstance(getattr(estimator, name), str | float | int)
        and getattr(estimator, name) == getattr(default, name)
        for name in CHOSEN
    )
    return is_left and is_feature_table(X)


def tune_table(
    estimator: S3VM, X: RowMatrix, y: VectorLike, weight: FloatArray | None, search: Search
) -> Decision:
    """Return the ``Decision`` for an S3VM whose rows are a table of features.

    Extremely randomized trees of the labelled rows are half of the kernel, and unlabelled rows
    cost nothing: over tables of features that ranks best for any number of labels. Something else
    is taken if held-out labels say so clearly.
    """
    rows = LabelledRows.read(estimator, X, y, weight, search)
    ratio, about_ratio = _find_ratio(estimator, rows, y, search)
    candidates = _make_candidates(estimator, ratio is not None)
    first = candidates[0].parameters
    if not (rows.can_compare and len(rows.unlabelled)):
        why = (
            f"a class has only {int(rows.sizes.min())} labelled rows, too few to compare settings"
        )
        if not len(rows.unlabelled):
            why = "all rows are labelled"
        reason = (
            f"{explain_feature_table(X)}, and {why}, so the default for such tables is "
            f"used: a kernel of trees, trained on the labelled rows only.{about_ratio}"
        )
        return Decision(first, reason, _make_table(candidates[:1]).assign(accuracy=np.nan), CURVE)
    trial = _HeldOutDecisions(estimator, rows, ratio, search)
    trial.run(candidates)
    decision, best = _decide(candidates, trial)
    unlabeled = _measure_gain(candidates, trial, best)
    reason = decision.reason + about_ratio + ("" if unlabeled is None else f" {unlabeled}")
    return decision._replace(reason=reason, unlabeled=unlabeled)


def _find_ratio(
    estimator: S3VM, rows: LabelledRows, y: VectorLike, search: Search
) -> tuple[ClassRatio | None, str]:
    """Return the ``ClassRatio`` of unlabelled rows if labels don't show it, and a message."""
    if not len(rows.unlabelled):
        return None, ""
    given, sizes = estimator.class_ratio, rows.sizes
    is_given = given is not None
    is_even = (
        sizes.min() >= _MIN_EQUAL_LABELS and np.ptp(sizes) <= _MAX_SHARE_OF_EQUAL * sizes.max()
    )
    if not is_given and not uses_label_ratio(estimator.balance):
        return None, ""
    if not is_given and is_skewed(sizes):
        return _ratio_of_skewed(rows, search)
    if not is_given and not is_even:
        return None, ""
    found = label_shift(
        rows.X,
        y,
        "estimate" if given is None else given,
        unlabeled=estimator.unlabeled,
        sample_weight=rows.weight,
        random_state=search.seed,
    )
    if found.intervals is None:
        return found, ""
    own, (low, high) = sizes / sizes.sum(), found.intervals.T
    if not is_given and np.all((low <= own) & (own <= high)):
        return None, ""  # the numbers may be equal because the classes are
    if is_given:
        return found, " The class ratio of the unlabelled rows was estimated (class_ratio_)."
    return found, (
        " Classes have equal numbers of labels, so the class ratio of the unlabelled rows was "
        "estimated (class_ratio_), and the threshold follows it."
    )


def _ratio_of_skewed(rows: LabelledRows, search: Search) -> tuple[ClassRatio | None, str]:
    """Return the ratio and words on it if nearly all labels are of one class and look unlike."""
    found = estimate_from_frequent_class(rows.X, rows.place, search.seed)
    if found is None:
        return None, ""
    ratio = ClassRatio(rows.classes, found.shares, found.intervals, 0.9, found.replicates)
    return ratio, (
        " Nearly all labels are of one class, and labelled rows look unlike the others, so the "
        "class ratio of the unlabelled rows was estimated (class_ratio_), and the threshold "
        "follows it."
    )


def _make_candidates(estimator: S3VM, has_ratio: bool) -> list[_Candidate]:
    """Return the candidates, the default for tables first."""
    ratio, own = {}, {}
    if uses_label_ratio(estimator.balance):
        own = {"balance": False}
        if has_ratio and estimator.class_ratio is None:
            ratio = {"class_ratio": "estimate"}
    held = {} if has_ratio else own  # a ratio holds the mean of f where unlabelled rows cost
    graph = Manifold(r=10.0, n_neighbors=10, share=0.5)
    trees, gentle = {"kernel": "trees", "C": 1.0}, {"C_star": 0.1}
    alone = {"C_star": 0.0, **own, **ratio}
    return [
        _Candidate(_LABELS_ONLY, "trees", {**trees, **alone}),
        _Candidate(_WITH_UNLABELLED, "trees", {**trees, **gentle, **held, **ratio}),
        _Candidate(_WITH_UNLABELLED, "rbf", {**ratio}),
        _Candidate(_LABELS_ONLY, "rbf", {"C": 1.0, **alone}),
        _Candidate(_LABELS_ONLY, "linear", {"kernel": "linear", "C": 1.0, **alone}),
        _Candidate(_WITH_UNLABELLED, "manifold", {"kernel": graph, **ratio}),
    ]


def _without_unlabelled(candidate: _Candidate) -> _Candidate:
    """Return the candidate without a cost of unlabelled rows."""
    parameters = {**candidate.parameters, "C_star": 0.0, "balance": False}
    return _Candidate(_LABELS_ONLY, candidate.kernel, parameters)


class _HeldOutDecisions:
    """Decisions about held-out labels; ``right`` is (candidates, labels), NaN where unknown."""

    def __init__(
        self, estimator: S3VM, rows: LabelledRows, ratio: ClassRatio | None, search: Search
    ) -> None:
        self.estimator, self.ratio, self.search = estimator, ratio, search
        self.X, self.place, self.weight, self.sizes = rows.X, rows.place, rows.weight, rows.sizes
        self.columns = explain_feature_table(rows.X)
        self.known, self.n_labels = rows.labelled, rows.n_labels
        rng = np.random.default_rng(search.seed)
        self.free = np.sort(rng.permutation(rows.unlabelled)[:_MAX_UNLABELLED_ROWS])
        taken = rows.X[np.concatenate([self.known, self.free])]
        self.gamma = resolve_gamma("distance", taken, None)
        self.splits = rows.split(self.known, search.seed)
        self.right = np.empty((0, len(self.splits), len(self.known)))
        # Accuracy is that among the unlabelled rows, as far as their class ratio is known.
        own, sizes = self.place[self.known], self.sizes
        self.share = np.ones(len(own))
        if self.weight is not None:
            self.share = self.weight[self.known].astype(float)
        if ratio is not None:
            self.share = self.share * (ratio.shares / (sizes / sizes.sum()))[own]
        self.share = self.share / self.share.sum()

    def run(self, candidates: list[_Candidate]) -> None:
        """Append the hits of candidates."""
        shape: tuple[int, ...] = (len(candidates), len(self.splits), len(self.known))
        if len(self.sizes) > 2:
            shape += (len(self.sizes),)
        held = np.full(shape, np.nan)
        of_free: list[list[FloatArray]] = [[] for _ in candidates]
        trials = make_trials(candidates, self.splits)
        for trial, scored in self.search.run("S3VM", trials, self._decide_held_out):
            held[trial.place, trial.fold, trial.test], free = scored
            of_free[trial.place].append(free)
        right = [self._mark_hits(*one) for one in zip(candidates, held, of_free, strict=True)]
        self.right = np.concatenate([self.right, right])

    def _decide_held_out(
        self, trial: Trial[_Candidate], search: Search
    ) -> tuple[FloatArray, FloatArray] | None:
        """Return decisions of a fold's model about held-out labels and some unlabelled rows."""
        candidate, used = trial.candidate, self.known[trial.train]
        parameters = dict(candidate.parameters)
        parameters.setdefault("gamma", self.gamma)
        if isinstance(self.estimator.balance, str):  # judged once, by all labels
            parameters.setdefault("balance", True)
        if candidate.model == _LABELS_ONLY:
            parameters["class_ratio"] = None  # the threshold follows from all folds
        else:
            used = np.concatenate([used, self.free])
            if self.ratio is not None:
                parameters["class_ratio"] = self.ratio.shares
        labels = self.place[used].astype(float)
        labels[labels < 0] = np.nan
        weight = None if self.weight is None else self.weight[used]
        model = search.fit_clone(
            self.estimator, self.X[used], labels, weight, unlabeled=None, **parameters
        )
        if model is None:
            return None
        held, free = self.X[self.known[trial.test]], self.X[self.free[:_MAX_SCORED_ROWS]]
        return model.decision_function(held), model.decision_function(free)

    def _mark_hits(
        self, candidate: _Candidate, held: FloatArray, of_free: list[FloatArray]
    ) -> FloatArray:
        """Return which predictions are right, with the threshold from a class ratio."""
        own, several = self.place[self.known], held.ndim == 3
        mask = np.isfinite(held if not several else held[:, :, 0])
        offset: float | FloatArray = 0.0
        if self.ratio is not None and candidate.model == _LABELS_ONLY and mask.any():
            fold, row = np.nonzero(mask)
            scores, free = held[fold, row], np.concatenate(of_free)
            unlabeled, ones = (free, np.ones(len(free))), np.ones(len(row)) * len(own) / len(row)
            curve: Curve | ClassCurves
            if several:
                curve = curves_of_classes(
                    scores, own[row], ones, "sigmoid", unlabeled, self.ratio.shares
                )
            else:
                curve = curve_of_labels(
                    scores, own[row] > 0, ones, "sigmoid", unlabeled, self.ratio.shares[1]
                )
            offset = curve.intercept / curve.slope
        predicted = (held + offset).argmax(axis=2) if several else held + offset > 0.0
        return np.where(mask, predicted == own, np.nan)


def _make_table(candidates: list[_Candidate]) -> pd.DataFrame:
    table = pd.DataFrame(
        {
            "model": one.model,
            "kernel": one.kernel,
            "C": one.parameters.get("C", 10.0),
            "C_star": one.parameters.get("C_star", 5.0),
        }
        for one in candidates
    )
    return table.assign(chosen=table.index == 0, clear=False)


def _compare_accuracy(trial: _HeldOutDecisions, one: int, other: int) -> tuple[float, float]:
    """Return the gain in accuracy per label of two candidates and its error, on common folds."""
    both = np.asarray(np.isfinite(trial.right[[one, other]]).any(axis=2).all(axis=0))
    if not both.any():
        return np.nan, np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # labels that were in no common fold
        means = np.nanmean(trial.right[[one, other]][:, both], axis=1)
    apart = means[0] - means[1]
    seen = np.isfinite(apart)
    share = trial.share[seen] / trial.share[seen].sum()
    gain = float(apart[seen] @ share)
    # As if one label more had been predicted differently: agreement of few labels is no proof.
    error = np.sqrt(np.square(apart[seen]) @ share**2 + np.mean(share) ** 2)
    return gain, float(error)


def _decide(candidates: list[_Candidate], trial: _HeldOutDecisions) -> tuple[Decision, int]:
    """Return the decision and its candidate: another than the first one must be clearly better."""
    table = _make_table(candidates)
    done = np.asarray(np.isfinite(trial.right).any(axis=2))
    accuracy, gains = [], []
    for number in range(len(candidates)):
        seen = trial.right[number][done[number] & done[0]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # labels that were not held out in time
            hits = np.nanmean(seen, axis=0) if len(seen) else np.full(len(trial.known), np.nan)
        known = np.isfinite(hits)
        share = trial.share[known]
        accuracy.append(float(hits[known] @ share / share.sum()) if known.any() else np.nan)
        gains.append(_compare_accuracy(trial, number, 0))
    table["accuracy"] = accuracy
    table[["gain", "gain_error"]] = gains
    table["folds"] = done.sum(axis=1)
    others = table.index > 0
    ahead = others & (table["gain"] > MIN_LEAD_IN_ERRORS * table["gain_error"])
    best = int(table["gain"].where(ahead).idxmax()) if ahead.any() else 0
    table["chosen"] = table.index == best
    level = norm.ppf(1.0 - 0.05 / max(1, others.sum()))
    table["clear"] = others & (table["gain"] > level * table["gain_error"])
    n_folds, chosen = int(done[0].sum()), candidates[best]
    over = f"{n_folds} fold{'s' * (n_folds != 1)} of {trial.n_labels} labelled rows"
    if best:
        reason = (
            f"{trial.columns}. Held-out accuracy of the {chosen.kernel} kernel "
            f"{chosen.model} is {accuracy[best]:.3f}, {table['gain'][best]:.3f} +- "
            f"{table['gain_error'][best]:.3f} above the default for such tables, over {over}."
        )
    else:
        compared = int((table["folds"][others] > 0).sum())
        reason = (
            f"{trial.columns}, so the default for such tables is used: a kernel of trees, trained "
            "on the labelled rows only. "
        )
        reason += (
            f"None of {compared} others was better by {MIN_LEAD_IN_ERRORS:g} standard errors "
            f"over {over}."
            if compared
            else "No other settings were compared."
        )
    return Decision(chosen.parameters, reason, table, CURVE), best


def _measure_gain(
    candidates: list[_Candidate], trial: _HeldOutDecisions, best: int
) -> UnlabeledRows | None:
    """Return the gain from unlabelled rows for the chosen candidate, used or not."""
    if candidates[best].model == _WITH_UNLABELLED:
        twin = _without_unlabelled(candidates[best])
        same = [
            k
            for k, one in enumerate(candidates)
            if one.model == _LABELS_ONLY
            and one.kernel == twin.kernel
            and one.parameters.get("C") == twin.parameters.get("C")
        ]
        if not same:
            trial.run([twin])
            same = [len(trial.right) - 1]
        pair = best, same[0]
    else:
        same = [
            k
            for k, one in enumerate(candidates)
            if one.model == _WITH_UNLABELLED and one.kernel == candidates[best].kernel
        ]
        pair = same[0] if same else 1, best
    gain, error = _compare_accuracy(trial, *pair)
    if not gain == gain:  # NaN
        return None
    used = candidates[best].model == _WITH_UNLABELLED
    return UnlabeledRows.from_error(gain, error, used)
