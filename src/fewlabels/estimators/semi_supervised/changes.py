"""Rows, labels and costs of an S3VM that change: functions that the class takes as its methods.

What they follow (``streams/semi_supervised``) and how they train (``training/semi_supervised``)
know no estimator.
"""

from contextlib import suppress
from numbers import Integral, Real

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..._threads import resolve_n_jobs
from ..._warn import warn
from ...fitted import Late
from ...gram import make_gram
from ...labels.arrays import check_classes
from ...labels.semi_supervised import read_classes, read_known_labels, read_semi_labels
from ...streams.classes import ClassStreams
from ...streams.rows import read_indices
from ...streams.semi_supervised import S3VMStream
from ...training.grams import shift_of
from ...training.semi_supervised.branching import search_near_last, stopped_early
from ..calls import fitted_or_not, fitting, one_at_a_time
from ..kernel_machine import KernelMachine
from ..rows import check_weight
from .solution import (
    held_gram,
    keep_bound,
    one_or_all,
    price_of_unlabelled,
    problems_of,
    train_each,
    training_of,
    warn_doubtful,
    warn_of_training,
)

# What rounding may do to a path.
BREAKDOWNS = (ArithmeticError, np.linalg.LinAlgError)
# By itself a stream takes a way to another minimum that costs little, and ones from scratch that
# do not search.
_BY_ITSELF = {"path": ("anneal", "C_star"), "branch-and-bound": ("anneal",)}
_NO_CLASSES = (
    "A stream can begin before both classes have a label: pass classes=[...] to the first "
    "partial_fit."
)


@fitting
def partial_fit(self, X, y=None, classes=None, sample_weight=None):
    """Add rows, labelled or not, and follow the minimum to where it moves.

    The first call on a new machine starts a stream: it fixes ``gamma_`` and, under the
    linear kernel, the centre. Until both classes have a label, rows are kept and f is
    constant: the sign of the only class labelled, 0 without labels. Once they have,
    the rows so far are trained on as by ``fit``. Of several classes, each so begins with its
    first label.

    Parameters
    ----------
    X : {array-like, sparse} of shape (n_samples, n_features)
        New rows. They become the last training rows.
    y : array-like of shape (n_samples,), default=None
        As in ``fit``; None when all rows are unlabelled.
    classes : array-like of shape (n_classes,), default=None
        All classes; needed by the first call on a new machine when y does not have them. Later
        calls may add classes: their machines begin on all rows, once they have a label.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights, > 0; under the balancing constraint equal over all unlabelled rows.
    """
    if self._late is None:
        return begin(self, X, y, classes, sample_weight)
    stream = self._ready_stream()
    named = self.classes_ if classes is None else read_classes(classes, self.unlabeled)
    if set(self.classes_.tolist()) <= set(named.tolist()):
        new = self._read_new(X, y, sample_weight, named)
        if len(named) > len(self.classes_):
            stream.check_new(new["label"], new["weight"])
            stream = with_classes(self, stream, named)
    else:
        check_classes(named, self.classes_)
    if self.solver == "branch-and-bound":
        return add_by_branching(self, stream, **new)
    return self._follow("partial_fit", stream, self.max_steps, lambda: stream.add(**new))


@one_at_a_time
def relabel(self, indices, y, classes=None):
    """Give training rows a label, change it, or take it back.

    Parameters
    ----------
    indices : array-like of int, or mask of shape (n_samples,)
        Training rows.
    y : array-like of shape (n_indices,), a label, or None
        Labels as in ``fit``; missing or ``unlabeled`` takes a label back, None all.
    classes : array-like of shape (n_classes,), default=None
        All classes, where some of them are new.
    """
    stream = self._ready_stream()
    indices = read_indices(indices, len(stream))
    named = self.classes_ if classes is None else read_classes(classes, self.unlabeled)
    if not set(self.classes_.tolist()) <= set(named.tolist()):
        check_classes(named, self.classes_)
    label = read_known_labels(y, len(indices), named, self.unlabeled)
    if len(named) > len(self.classes_):
        stream = with_classes(self, stream, named)
    return self._follow("relabel", stream, self.max_steps, lambda: stream.relabel(indices, label))


@one_at_a_time
def reprice(self, C=None, C_star=None):
    """Move prices steadily to other values, and follow the minimum: a regularisation path.

    Parameters
    ----------
    C : float or None, default=None
        New price of labelled rows, > 0; None leaves it.
    C_star : float or None, default=None
        New price of unlabelled rows, >= 0; None leaves it.
    """
    stream = self._ready_stream()
    C = self.C if C is None else C
    C_star = self.C_star if C_star is None else C_star
    for name, value, allowed in (("C", C, "> 0"), ("C_star", C_star, ">= 0")):
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if not is_number or not 0 <= value < np.inf or (value == 0 and name == "C"):
            raise ValueError(f"{name}={value!r} is no price; pass a number {allowed}.")

    def change():
        stream.reprice(C, price_of_unlabelled(C_star, len(self.classes_)))
        self.C, self.C_star = C, C_star
        self._fixed = {**self._fixed, "C": C, "C_star": C_star}

    return self._follow("reprice", stream, self.max_steps, change)


@one_at_a_time
def widen(self, n_features):
    """Give the rows more features, which are 0 for all rows so far.

    f stays the same, for kernels of inner products and of distances alike. The path is
    begun again, which takes a product with the kernel columns of the support vectors.

    Parameters
    ----------
    n_features : int
        Number of features from now on, at least that of the rows so far.
    """
    stream = self._ready_stream()
    if not isinstance(n_features, Integral):
        raise ValueError(f"n_features={n_features!r} is no number of features; pass an int.")
    if n_features < self.n_features_in_ or hasattr(self, "feature_names_in_"):
        raise ValueError(
            f"widen({n_features}) is not possible for rows of {self.n_features_in_} features"
            f"{' with names' if hasattr(self, 'feature_names_in_') else ''}; it adds features "
            "without names."
        )
    self._follow("resume", stream)
    try:
        stream.widen(int(n_features))
    finally:
        self.n_features_in_ = stream.rows(stream.places[:0]).shape[1]
    return self._follow("widen", stream, self.max_steps)


def objectives_of(self, place):
    return self.objectives_ if len(self.classes_) == 2 else self.objectives_[place]


def keep_objectives(self, place, objectives):
    """Those of one machine; the list of several is another one then."""
    if len(self.classes_) == 2:
        self.objectives_ = objectives
    else:
        kept = self.objectives_
        self.objectives_ = [*kept[:place], objectives, *kept[place + 1 :]]


def gram_once(self):
    """The operator over rows, the same again for the machines of other classes."""
    made = []

    def make(X):
        if not made:
            made.append(held_gram(self, X))
        return made[0]

    return make


def make_stream(self, rows, label, shift):
    problems = problems_of(self, self.classes_)
    over = (rows.X, label, rows.weight, shift, self.cache_size * 1e6, resolve_n_jobs(self.n_jobs))
    kernel, update = self._make_kernel(), self.balance_update
    if len(problems) == 1:
        stream = S3VMStream(kernel, problems[0], update, *over)
    else:
        stream = ClassStreams(self.classes_.tolist(), kernel, problems, update, *over)
    stream.deadline = self._deadline
    return stream


def with_classes(self, stream, named):
    """The stream, of more classes than so far from now on."""
    if self.class_ratio is not None:
        raise ValueError(
            f"class_ratio={self.class_ratio!r} says nothing of a class that is new; fit again, "
            "with a share for each class if they are given."
        )
    if not isinstance(self.balance, bool | np.bool_):
        raise ValueError(
            f"balance={self.balance!r} says nothing of a class that is new; fit again with a "
            "share for each class, or with balance=True."
        )
    self._follow("resume", stream)
    before = np.searchsorted(named, self.classes_)
    lists = [self.objectives_] if len(self.classes_) == 2 else self.objectives_
    kept, places = [[] for _ in named], before[-len(lists) :]
    for place, objectives in zip(places, lists, strict=True):
        kept[place] = objectives
    problem = problems_of(self, named)[0]
    self._stream = begun(ClassStreams.of(stream, named.tolist(), before, problem))
    self._stream.reprice(problem.C, problem.C_star)
    self.classes_, self.objectives_ = named, kept
    return self._stream


def open_stream(self, name, stream):
    """Hold the rows of a machine that has no solution yet, and follow them."""
    self._hold(stream)
    self._late, self._sample, self._kept = Late(), None, None
    self._lower_bound = self._offset = None
    self.objectives_ = one_or_all(self, [[] for _ in stream.parts])
    with fitted_or_not(self):
        return self._follow(name, stream, None if name == "fit" else self.max_steps)


def begin(self, X, y, classes, sample_weight):
    """The first rows of a stream."""
    refuse_what_has_no_path(self, False)
    label = None
    if classes is not None:
        classes = read_classes(classes, self.unlabeled)
    elif y is None:
        raise ValueError(_NO_CLASSES)
    else:
        try:
            label, classes, doubtful = read_semi_labels(y, self.unlabeled)
        except ValueError as error:
            raise ValueError(f"{error} {_NO_CLASSES}") from None
        if doubtful:
            warn_doubtful(classes)
    rows = self._read_rows(X, sample_weight)
    refuse_what_has_no_path(self, rows.kept is not None)
    if label is None:
        label = read_known_labels(y, rows.X.shape[0], classes, self.unlabeled)
    check_consistent_length(rows.X, label)
    self.classes_ = classes
    self._prepare(rows, label)
    stream = make_stream(self, rows, label, shift_of(self._make_kernel(), rows.X))
    stream.check()
    return open_stream(self, "partial_fit", stream)


def read_new(self, X, y, sample_weight, classes):
    rows = self._rows_to_score(X)
    weight, left_out = check_weight(sample_weight, rows)
    label = read_known_labels(y, rows.shape[0], classes, self.unlabeled)
    refuse_what_has_no_path(self, left_out is not None)
    return {"X": rows, "label": label, "weight": weight}


def refuse_what_has_no_path(self, some_left_out):
    if self.kernel == "precomputed":
        raise ValueError(
            "kernel='precomputed' cannot follow rows that come and go, for want of their "
            "kernel values; pass rows and a kernel or a callable, or use solver='cccp'."
        )
    if some_left_out:
        raise ValueError(
            "sample_weight leaves out rows of weight <= 0, which a path cannot hold; "
            "leave these rows out of X."
        )


def ready_stream(self):
    """The stream, its path begun if that is possible."""
    check_is_fitted(self)
    refuse_what_has_no_path(self, self._kept is not None)
    return begun(KernelMachine._ready_stream(self))


def begun(stream):
    """The stream, the paths begun whose start is known."""
    for part in stream.parts:
        if part.has_start:
            with suppress(*BREAKDOWNS):  # the operation will try again
                part.begin()
    return stream


def follow(self, name, stream, max_steps=None, change=None):
    if change is None:
        return KernelMachine._follow(self, name, stream, max_steps)

    def changed():
        change()
        self._lower_bound = None

    KernelMachine._follow(self, name, stream, max_steps, changed)
    if self.auto_consolidate and stream.done and stream.ready and stream.due_by_itself:
        self.consolidate(_BY_ITSELF.get(self.solver, ("anneal", "batch", "one-sided")))
    return self


def catch_up(self, stream, name, max_steps):
    done, make_gram, last = True, gram_once(self), stream.n_steps + (max_steps or 0)
    for place, part in enumerate(stream.parts):
        left = None if max_steps is None else max(0, last - stream.n_steps)
        done &= catch_up_one(self, part, place, name, left, make_gram)
    if done and len(stream.parts) > 1:
        stream.settle()
    rough = stream.lost_to_rounding(self.tol) if done else 0.0
    if rough:
        warn(
            f"{name} ended at a KKT violation of {rough:.3g}: kernel values are so large that "
            "rounding hides the minimum. Scale the columns, and look for odd values.",
            ConvergenceWarning,
        )
    return done


def catch_up_one(self, part, place, name, max_steps, make_gram):
    """Let the machine of one class, or that of two, follow its rows; whether it is at its end."""
    try:
        begun = part.has_path or part.has_start
        if not begun and self.solver != "path" and part.ready:
            keep_objectives(self, place, train_batch(self, part, place, make_gram))
            part.mark_rebuilt()
        return part.run(max_steps)
    except BREAKDOWNS as error:
        train_again(self, part, place, name, error)
        return True


def train_batch(self, part, place, make_gram, signs_before=None):
    """Let the path of a stream start from batch training; gives its objectives."""
    data = part.training_data(make_gram)
    (found,) = train_each(self, [data], signs_before=signs_before)
    keep_bound(self, [found], place)
    part.start_from(found, done=bool(found.result.converged))
    warn_of_training(self, [found], data.gram)
    return found.objectives


def train_again(self, part, place, name, error):
    """After a breakdown: a minimum from the last signs, or else from scratch.

    Should no path begin there either, the batch solution stands until the next operation.
    """
    warn(
        f"the path broke down during {name} ({error}); trained again from its last state, by "
        f"batch training. Scaling the columns may prevent this.",
        ConvergenceWarning,
    )
    signs, make_gram = part.last_signs(), gram_once(self)
    for sign in [None] if signs is None else [signs, None]:
        keep_objectives(self, place, train_batch(self, part, place, make_gram, sign))
        with suppress(*BREAKDOWNS):
            part.begin()
            break


def add_by_branching(self, stream, X, label, weight):
    """Add rows one by one; after each, search the signs around it."""
    if self.max_steps is not None:
        raise ValueError(
            f"max_steps={self.max_steps} cuts the path short, and branch and bound begins at "
            "its end; set max_steps=None."
        )
    stream.check_new(label, weight)
    self._follow("resume", stream)
    searches = []
    for i in range(len(label)):
        one, were_ready = slice(i, i + 1), [part.ready for part in stream.parts]
        new = X[one], label[one], None if weight is None else weight[one]
        self._follow("partial_fit", stream, None, lambda new=new: stream.add(*new))
        searches += [
            search_near_newest(self, part)
            for part, was_ready in zip(stream.parts, were_ready, strict=True)
            if was_ready and part.has_path
        ]
    message = stopped_early(searches, len(label))
    if message is not None:
        warn(message, ConvergenceWarning)
    return self


def search_near_newest(self, stream):
    """Search the signs around the newest row, and go on from what is better."""
    places = stream.places
    gram = make_gram(
        stream.kernel, stream.kernel_rows(places), dtype=np.float64, n_jobs=stream.n_jobs
    )
    search = search_near_last(
        gram, stream.machine, stream.label(places), stream.weight(places),
        stream.standing().at(places), self.n_neighbors, training_of(self, None),
    )  # fmt: skip
    self.n_nodes_ = getattr(self, "n_nodes_", 0) + search.n_nodes
    if search.solution is not None:
        stream.restart_at(search.solution)
    return search
