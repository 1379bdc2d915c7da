"""How an S3VM trains, what it shows, and what its probabilities are fitted to."""

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ..._warn import warn
from ...fitted import Solution, class_of
from ...fitted.solution import ROUNDING, Certificate, function_of, largest_value, run_by
from ...gram import PrecomputedGram, RepeatedGram, make_gram
from ...kernels import Deformed
from ...labels.semi_supervised import places_of, read_semi_labels, read_shares
from ...problem.convexity import curvature_missing
from ...problem.semi_supervised import SemiSupervised
from ...solvers import Status
from ...streams.classes import histories
from ...training.class_curves import curves_of_classes
from ...training.cross_fitting import Sample, left_out_scores
from ...training.curves import curve_of_labels
from ...training.elsewhere.place import noted
from ...training.row_order import label_folds
from ...training.semi_supervised.branching import train, unproven
from ...training.semi_supervised.data import S3VMSettings
from ..rows import warn_of_lost_digits

# Multiply-adds per kernel value from which training holds all values, if there is room.
_WORTH_HOLDING = 48
# Machines of a cross-fit. With a deadline and many rows, one of at least so many rows, or of this
# multiple of the labelled rows, finds out how many there is time for.
_FOLDS = 5
_PILOT_ROWS, _PILOT_LABELS = 2000, 2
# Their decisions' name among the machine's late values.
_LEFT_OUT = "left-out decisions"


def refuse_no_labels(self, y):
    if y is None:
        raise ValueError(
            f"{type(self).__name__} requires y to be passed, but the target y is None: pass "
            "the classes of the labelled rows, missing for the others."
        )


def read_labels(self, y):
    """Labels of rows by number, and the classes."""
    given, classes, doubtful = read_semi_labels(y, self.unlabeled)
    if doubtful:
        warn_doubtful(classes)
    return given, classes


def problems_of(self, classes):
    """What the machine of two classes minimises, or each of several."""
    balance, n = self.balance, 1 if len(classes) == 2 else len(classes)
    means, shares = [balance] * n, self.class_ratio_
    if shares is not None and not isinstance(balance, bool | np.bool_):
        raise ValueError(
            f"balance={balance!r} and class_ratio both say what the unlabelled rows are; leave "
            "one of them at its default."
        )
    if isinstance(balance, Mapping):
        shares = read_shares(balance, classes)
    if shares is not None and balance is not False:
        means = [float(2.0 * share - 1.0) for share in shares][-n:]
    elif n > 1 and not isinstance(balance, bool | np.bool_):
        raise ValueError(
            f"balance={balance!r} is a mean of f, and of {n} classes each has its own; pass True "
            "for the shares of the labels, False, or a dict {class: share}."
        )
    C_star = price_of_unlabelled(self.C_star, len(classes))
    return [SemiSupervised(float(self.C), C_star, mean) for mean in means]


def price_of_unlabelled(C_star, n_classes):
    """C* of the machine of each class: so many together charge a row as two do."""
    return float(C_star) * min(1.0, 2.0 / n_classes)


def check_each_has_labels(label, classes):
    """Refuse weights that leave a class without labels."""
    missing = np.setdiff1d(np.arange(len(classes)), places_of(label, len(classes)))
    if len(missing):
        left = "labels of one class only"
        if len(classes) > 2:
            left = f"no label of the class {classes[missing[0]]}"
        raise ValueError(
            f"sample_weight leaves {left}; give some labelled rows of each class a weight > 0."
        )


def one_or_all(self, values):
    """What the machine of two classes has, or those of several."""
    return values[0] if len(self.classes_) == 2 else values


def train_each(self, several, callback=None, signs_before=None, place=None):
    """Batch training of every ``S3VMData``, within one limit of time.

    Rows that are not in memory lie in a ``place``, which tells what rounds have cost; no sample
    of them is taken to begin with.
    """
    if len(several) == 1:
        return [train(several[0], training_of(self, callback, place), signs_before)]
    found, started = [], time.perf_counter()
    for number, data in enumerate(several):
        settings = training_of(self, callback and partial(_called, callback, number), place)
        left = settings.engine.max_time - (time.perf_counter() - started)
        if any(_was_stopped(one.result) for one in found):
            left = 0.0  # the others only begin
        engine = replace(settings.engine, max_time=max(0.0, left))
        found.append(train(data, replace(settings, engine=engine)))
    return found


def _was_stopped(result):
    """Whether a limit or the user ended training. A problem that rounding ends is complete."""
    return not result.converged and result.status is not Status.STALLED


def _called(callback, number, entry):
    return callback({**entry, "machine": number})


def training_of(self, callback, place=None):
    """How batch training is done, perhaps of rows in a ``place``."""
    engine = self._settings(self.tol, 0.0, callback)
    if place is not None:
        engine = replace(engine, coarse=False, callback=partial(noted, place, engine.callback))
    return S3VMSettings(
        engine=engine,
        annealing=self.annealing,
        branching=self.solver == "branch-and-bound",
        max_nodes=self.max_nodes,
        callback=callback,
    )


def held_gram(self, X):
    """K over rows, all at once where that is cheaper: training solves many problems."""
    gram = self._gram(X)
    inner = gram if gram.copies is None else gram.inner
    if inner.value_cost < _WORTH_HOLDING or 8 * inner.n**2 > 1e6 * self.cache_size:
        return gram
    held = PrecomputedGram(inner.block(np.arange(inner.n)), inner.n_jobs)
    held.n_values, held.is_inner_product = inner.n_values, inner.is_inner_product
    return held if inner is gram else RepeatedGram(held, gram.copies)


def keep_bound(self, found, place=None):
    """What batch training of all machines, or of one, says of the global minimum."""
    bounds, n_nodes = [one.lower_bound for one in found], sum(one.n_nodes for one in found)
    if len(self.classes_) > 2:
        known = np.full(len(self.classes_), np.nan)
        if place is not None and self._lower_bound is not None:
            known = self._lower_bound.copy()
        known[slice(None) if place is None else [place]] = np.array(bounds, dtype=float)
        n_nodes += 0 if place is None else getattr(self, "n_nodes_", 0)
        bounds = [None if np.isnan(known).all() else known]
    self._lower_bound = bounds[0]
    if bounds[0] is not None:
        self.n_nodes_ = n_nodes


def warn_of_training(self, found, gram):
    """Warn when the tolerance was not reached, or the global minimum is not proven."""
    worst = next((one for one in found if not one.result.converged), found[0])
    message = unproven(worst)
    if message is None:
        gaps = [curvature_missing(gram, one.result.a) for one in found]
        self._report_status(worst.result, self.tol, float(np.sum(gaps)))
        warn_of_lost_digits(gram, worst.result.a[: gram.n], 1.0, self.tol)
    else:
        warn(message, ConvergenceWarning)


def solution_of(self, gram, X, coefs, biases, numbers, label, run, shift):
    """The ``Solution`` with the coefficients of every machine; ``run`` is how training ran."""
    largest = largest_value(gram)
    sizes = [ROUNDING * (float(np.abs(coef).sum()) * largest) for coef in coefs]
    several = len(coefs) > 1
    function, places, support = function_of(
        self._make_kernel(), gram, X, np.stack(coefs), numbers, shift=shift,
        rounding=np.array(sizes) if several else sizes[0],
        bias=np.array(biases) if several else biases[0],
    )  # fmt: skip
    kinds = places_of(label[places], len(self.classes_))
    counts = [np.sum(kinds == place) for place in range(len(self.classes_))]
    return Solution(function=function, **run_by(support, counts, *run))


def solution_of_fit(self, found, data, rows, label, shift):
    """The ``Solution`` of batch trainings."""
    results = [one.result for one in found]
    history = results[0].history
    if len(found) > 1:
        history = histories(result.history for result in results)
    run = sum(r.n_iter for r in results), history, all(r.converged for r in results)
    coefs = [one.coefficients(result.a) for one, result in zip(data, results, strict=True)]
    biases = [-float(result.multiplier) for result in results]
    gram = data[0].gram
    return solution_of(self, gram, rows.X, coefs, biases, rows.indices, label, run, shift)


def certificate_of(self, found, function, rows, label):
    """``Certificate`` of a fit; ``label`` are those of all rows."""
    decision = np.empty((len(label), len(found)))
    decision[rows.indices] = moved_by(self, np.column_stack([one.f for one in found]))
    if rows.kept is not None:
        out = np.setdiff1d(np.arange(len(label)), rows.kept)
        of_others = function(rows.everything[out], n_jobs=self.n_jobs)
        decision[out] = of_others.reshape(len(out), -1)
    objectives, violations = [one.objective for one in found], [one.violation for one in found]
    return certified(self, objectives, violations, decision, function, label)


def certified(self, objectives, violations, decision, function, label):
    if len(objectives) == 1:
        positive = np.where(label, label > 0, decision[:, 0] > function.rounding)
        return Certificate(objectives[0], violations[0], positive)
    chosen = np.where(label, places_of(label, len(self.classes_)), class_of(decision))
    return Certificate(np.array(objectives), np.array(violations), chosen)


def describe(self):
    stream = self._stream
    known = np.concatenate([stream.places, stream.leaving])
    stands = [part.standing().at(known) for part in stream.parts]
    support = np.flatnonzero(np.any([at.coef for at in stands], axis=0))
    numbers = np.where(np.arange(len(known)) < len(stream), np.arange(len(known)), -1)
    of_gram = support if len(support) else np.arange(len(known))
    gram = make_gram(stream.kernel, stream.kernel_rows(known[of_gram]), dtype=np.float64)
    for at in stands:
        warn_of_lost_digits(gram, at.coef[of_gram], 1.0, self.tol)
    converged = stream.done and not stream.lost_to_rounding(self.tol)
    biases = moved_by(self, np.array([-float(at.multiplier) for at in stands]))
    return solution_of(
        self, gram, stream.rows(known[support]), [at.coef[support] for at in stands],
        biases.tolist(), numbers[support],
        stream.label(known[support]), (stream.n_iter, stream.history, converged), stream.shift,
    )  # fmt: skip


def certify_stream(self):
    """The ``Certificate`` where the stream stands."""
    stream, function = self._stream, self.function_
    stands, places = [part.standing() for part in stream.parts], stream.places
    f = np.column_stack([at.f[places] for at in stands])
    waiting = np.flatnonzero(np.isnan(f).any(axis=1))
    if len(waiting):
        values = function(stream.rows(places[waiting]), n_jobs=self.n_jobs)
        values = moved_by(self, values.reshape(len(waiting), -1), -1.0)
        for column, at in enumerate(stands):
            unknown = np.isnan(f[waiting, column])
            at.f[places[waiting[unknown]]] = values[unknown, column]
            f[:, column] = at.f[places]
    found = [part.certificate(at) for part, at in zip(stream.parts, stands, strict=True)]
    objectives, violations = zip(*found, strict=True)
    return certified(
        self, objectives, violations, moved_by(self, f), function, stream.label(places)
    )


def moved_by(self, decision, sign=1.0):
    """Values of f of every machine, the last dimension, with (or, by ``sign``, without) offset."""
    return decision if self._offset is None else decision + sign * self._offset


def one_sided(stream):
    """Signs of the training rows, those without a label on the side of most labels."""
    places = stream.places
    label, weight = stream.label(places), stream.weight(places)
    return np.where(label == 0, 1.0 if label @ weight > 0 else -1.0, 0.0)


def warn_doubtful(classes):
    warn(
        f"y has two values only, {classes[0]} and {classes[1]}: both are taken for classes "
        "and no row for unlabelled. Pass unlabeled=None to say so, or NaN for unlabelled "
        "rows.",
        UserWarning,
    )


# -- probabilities --------------------------------------------------------------------------------


def fit_curve(self):
    sample = self._sample if self._stream is None else sample_of_stream(self)
    if sample is None:
        raise ValueError(
            f"this {type(self).__name__} holds neither its training rows nor a curve from "
            "decisions to probabilities; call predict_proba once before the machine is "
            "saved, or fit again."
        )
    label, weight = sample.y, sample.weight
    free, scores = np.flatnonzero(label == 0), moved_by(self, left_out_decisions(self, sample))
    self._late.put(_LEFT_OUT, self._version, scores)
    known = np.isfinite(scores[:, 0])
    balances = [problem.balance for problem in problems_of(self, self.classes_)]
    shares = None if self.class_ratio_ is None else self.class_ratio_[-len(balances) :]
    if shares is None and not isinstance(balances[0], bool) and -1.0 < balances[0] < 1.0:
        # The shares of classes that these means stand for.
        shares = 0.5 * (1.0 + np.array(balances))
    unlabeled, shares = None, shares if len(free) else None
    if shares is not None:
        unlabeled = decisions_at(self, self.function_, sample, free), weight[free]
    if len(balances) == 1:
        curve = curve_of_labels(
            scores[known, 0], label[known] > 0, weight[known], self.probability, unlabeled,
            None if shares is None else shares[0],
        )  # fmt: skip
    else:
        place = places_of(label[known], len(self.classes_))
        curve = curves_of_classes(
            scores[known], place, weight[known], self.probability, unlabeled, shares
        )
    return replace(curve, agrees=True)


def decisions_at(self, function, sample, rows):
    """A function of the model at some rows of a sample of the training rows."""
    X = sample.X[rows]
    if sample.pairwise and self._kept is not None:
        X = np.zeros((len(rows), self.shape_fit_[0]))
        X[:, self._kept] = sample.X[rows]
    return function(X, n_jobs=self.n_jobs)


def sample_of_stream(self):
    stream = self._stream
    if not stream.ready:
        raise ValueError(
            "predict_proba needs labels of both classes, or of all, and so far there are not; "
            "pass labels to partial_fit or relabel."
        )
    if stream.has_path and not stream.done:
        raise ValueError("an operation is on its way; call resume() before predict_proba.")
    places = stream.places
    return Sample(stream.rows(places), stream.label(places), stream.weight(places))


def left_out_decisions(self, sample):
    """Decisions about labelled rows by machines that were trained without them, a column each.

    Five machines, each trained on all unlabelled rows and four fifths of the labelled rows
    of every class, as ``solver="auto"`` trains. Folds depend on the values of rows alone,
    and equal rows are in one. NaN for unlabelled rows, for one that is, with its copies, the
    only one of its class, and for those that the machine's deadline left no time for. If a
    machine of all rows would take longer than that deadline, machines train on fewer unlabelled
    rows.
    """
    if self.C_star != 0 or self.balance is not False:
        return _left_out(self, sample)
    known = np.flatnonzero(sample.y)  # unlabelled rows change nothing
    scores = np.full((len(sample.y), 1 if len(self.classes_) == 2 else len(self.classes_)), np.nan)
    some = sample._replace(
        X=sample.rows(known, known), y=sample.y[known], weight=sample.weight[known]
    )
    scores[known] = _left_out(self, some)
    return scores


def _left_out(self, sample):
    settings = {"solver": "auto", "unlabeled": None, "verbose": False}
    if self.gamma_:
        settings["gamma"] = self.gamma_
    if isinstance(self.balance, Mapping):
        numbers = np.unique(sample.y[sample.y != 0])
        shares = read_shares(self.balance, self.classes_)
        settings["balance"] = dict(zip(numbers.tolist(), shares.tolist(), strict=True))
    if self.class_ratio_ is not None:  # without a constraint it moves the intercept afterwards
        settings["class_ratio"] = None if self.balance is False else self.class_ratio_
    if isinstance(self._deformed, Deformed):  # a forest grows without the labels left out
        settings["kernel"] = self._deformed
    labels = sample.y
    fold = label_folds(sample.X, places_of(labels, len(self.classes_)), _FOLDS)
    sample = sample._replace(y=np.where(labels == 0, np.nan, labels))
    tested = [np.flatnonzero(fold == k) for k in np.unique(fold[fold >= 0])]
    splits = [(np.setdiff1d(np.arange(len(fold)), test), test) for test in tested]
    deadline, seconds = self._deadline, []

    def score(train, test):
        since = time.perf_counter()
        machine = sample.fit(clone(self).set_params(**settings), train)
        found = machine.decision_function(sample.rows(test, train))
        seconds.append(time.perf_counter() - since)
        return found

    n_machines = 1 if len(self.classes_) == 2 else len(self.classes_)
    shape = len(fold), n_machines
    scores, size, pilot = np.full(shape, np.nan), len(fold), _pilot_rows(labels)
    tried = deadline.is_near and 2 * pilot < size
    if tried:
        train, test = splits[0]
        scores[test] = score(_fewer(labels, train, pilot), test).reshape(len(test), -1)
        # Training takes about the square of the number of rows.
        size = int(pilot * (deadline.left() / seconds.pop()) ** 0.5)
        splits = [(_fewer(labels, train, size), test) for train, test in splits]
    if size > pilot or not tried:
        found = left_out_scores(
            len(fold), splits, score, n_scores=n_machines,
            is_over=lambda: seconds and deadline.left() < max(seconds),
        )  # fmt: skip
        scores = np.where(np.isfinite(found), found, scores)
    if len(seconds) < len(tested):
        told = (
            f"{max(1, len(seconds))} of {len(tested)} machines trained without some of the labels"
        )
        deadline.cut.append(f"probabilities stand on {told}")
    if size < len(fold):
        deadline.cut.append(
            f"these machines learnt from {max(size, pilot):,} of {len(fold):,} rows"
        )
    return scores


def _pilot_rows(labels):
    return max(_PILOT_ROWS, _PILOT_LABELS * int(np.count_nonzero(labels)))


def _fewer(labels, train, size):
    """At most ``size`` of the rows ``train``, labelled ones first."""
    if len(train) <= size:
        return train
    known, free = train[labels[train] != 0], train[labels[train] == 0]
    drawn = np.random.default_rng(0).permutation(len(free))[: max(0, size - len(known))]
    return np.sort(np.concatenate([known, free[drawn]]))


def left_out_known(self):
    """What ``predict_proba`` was calibrated by, decisions of (n_samples, n_machines), or None."""
    return self._late.known(_LEFT_OUT, self._version)
