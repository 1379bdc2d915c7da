"""A semi-supervised SVM as a classifier of the library river."""

from collections.abc import Hashable, Mapping
from typing import Any, TypeAlias

import numpy as np

from .._typing import AnyArray, FloatArray, IntArray
from .._util.extras import require
from ..base.locking import consistent
from ..calibration.curve import class_of
from ..data.labels.blanks import is_no_label
from ..semi_supervised.s3vm import S3VM

try:
    from river.base import Classifier
except ImportError:  # said when a model is created
    Classifier = None  # type: ignore[misc, assignment]

# Columns kept free for names to come, at least.
_SPARE = 8
Features: TypeAlias = Mapping[Hashable, Any]


class S3VMClassifier(Classifier or object):  # type: ignore[misc]
    """Semi-supervised SVM for streams: rows come one at a time, few of them with a label.

    The model after n calls of ``learn_one`` is a local minimum of S3VM's problem over the rows
    it holds, followed exactly from row to row. Rows are dicts of numbers; a name that is missing
    counts as 0, and names may come at any time. Every label that comes is a class, two or more;
    a third one begins a model of its own, against the rest, on all rows held.

    Parameters
    ----------
    C : float, default=10.0
        Cost of labelled rows inside the margin, > 0.
    C_star : float, default=5.0
        Cost of unlabelled rows inside the margin, > 0.
    balance : bool or float, default=True
        Mean of f over the unlabelled rows, see S3VM.
    kernel : {"rbf", "linear", "poly", "sigmoid"}, default="rbf"
        Kernel.
    gamma : "auto" or float, default="auto"
        Coefficient of the kernel, >= 0. "auto" is one over the number of features of the
        first row, which is right for features of variance 1, as river's StandardScaler
        makes them.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=1.0
        Independent term of "poly" and "sigmoid".
    window : int or None, default=None
        Most unlabelled rows that are held; the oldest are forgotten, exactly. None
        holds them all, so that memory and time per row grow.
    window_labeled : int or None, default=None
        Most labelled rows that are held. The last one of a class always stays.
    consolidate : bool, default=True
        Whether to train afresh when half of the rows have changed, and keep the better
        minimum: the first rows of a stream mislead. ``learn_one`` then takes the time of a
        fit, now and then.

    Attributes
    ----------
    model : S3VM or None
        The model; its rows are those held, oldest first.

    Notes
    -----
    ``predict_proba_one`` is not offered: f is no probability. ``decision_one`` gives f.

    A feature that no row had so far counts in predictions as it does in the kernel: under
    "rbf" as distance, under the others not at all.
    """

    def __init__(
        self,
        C: float = 10.0,
        C_star: float = 5.0,
        balance: bool | float = True,
        kernel: str = "rbf",
        gamma: str | float = "auto",
        degree: int = 3,
        coef0: float = 1.0,
        window: int | None = None,
        window_labeled: int | None = None,
        consolidate: bool = True,
    ) -> None:
        if Classifier is None:
            require("S3VMClassifier", "river", otherwise="use S3VM.partial_fit without it")
        for name, size in (("window", window), ("window_labeled", window_labeled)):
            if size is not None and not size >= 1:
                raise ValueError(f"{name}={size!r} is not allowed; pass a number >= 1, or None.")
        self.C = C
        self.C_star = C_star
        self.balance = balance
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.window = window
        self.window_labeled = window_labeled
        self.consolidate = consolidate
        self.model: S3VM | None = None
        self._columns: dict[Hashable, int] = {}  # by name; column 0 is for names that no row has
        self._classes: list[Hashable] = []

    @property
    def _multiclass(self) -> bool:  # as river asks
        return True

    # -- learning --------------------------------------------------------------------------

    @consistent
    def learn_one(self, x: Features, y: Hashable | None = None) -> None:
        """Add a row, and follow the minimum.

        Parameters
        ----------
        x : dict
            Features by name, finite numbers.
        y : hashable or None, default=None
            Label; None, NaN or "" for none.
        """
        values = _read_numbers(x)
        known = len(self._classes)
        code = self._code(y)
        row = self._row(values, self._with_columns(values))
        model = self._new_model(len(x)) if self.model is None else self.model
        if self.model is not None and row.shape[1] > model.n_features_in_:
            model.widen(row.shape[1])
        try:
            classes = range(max(2, len(self._classes)))
            model.partial_fit(row, [np.nan if code is None else code], classes=classes)
        except ValueError:
            del self._classes[known:]
            raise
        self.model = model
        self._forget_oldest()
        if self.consolidate and self.model.consolidation_due_:
            self.model.consolidate(["batch", "C_star"])

    def _code(self, y: Hashable | None) -> int | None:
        if is_no_label(y):
            return None
        if y not in self._classes:
            self._classes.append(y)
        return self._classes.index(y)

    def _new_model(self, n_features: int) -> S3VM:
        gamma = 1.0 / max(1, n_features) if self.gamma == "auto" else self.gamma
        return S3VM(
            C=self.C,
            C_star=self.C_star,
            balance=self.balance,
            kernel=self.kernel,
            gamma=gamma,
            degree=self.degree,
            coef0=self.coef0,
            unlabeled=None,
            n_jobs=1,
        )

    def _with_columns(self, values: dict[Hashable, float]) -> int:
        """Return the width of rows, with columns for all names and some to spare."""
        # In an order that does not depend on the dict's.
        for name in sorted(values.keys() - self._columns.keys(), key=lambda n: (str(n), repr(n))):
            self._columns[name] = 1 + len(self._columns)
        needed = 1 + len(self._columns)
        width = 0 if self.model is None else self.model.n_features_in_
        return width if needed <= width else needed + max(_SPARE, needed // 2)

    def _row(self, values: dict[Hashable, float], width: int) -> FloatArray:
        row, unknown = np.zeros((1, width)), 0.0
        for name, value in values.items():
            column = self._columns.get(name)
            if column is None:
                unknown += value * value
            else:
                row[0, column] = value
        row[0, 0] = np.sqrt(unknown)
        return row

    def _forget_oldest(self) -> None:
        """Keep to the windows."""
        if self.window is not None:
            unlabelled = np.flatnonzero(self._label() == 0)
            self._forget(unlabelled[: max(0, len(unlabelled) - self.window)])
        if self.window_labeled is not None:
            label = self._label()
            last = [np.flatnonzero(label == k)[-1:] for k in np.unique(label[label != 0])]
            may_go = np.setdiff1d(np.flatnonzero(label), np.concatenate(last))
            self._forget(may_go[: max(0, np.count_nonzero(label) - self.window_labeled)])

    def _label(self) -> AnyArray:
        """Return the labels of the training rows, as numbers."""
        rows = None if self.model is None else self.model.training_rows_
        assert rows is not None and rows.label is not None
        return rows.label

    def _forget(self, rows: IntArray) -> None:
        if self.model is not None and len(rows):
            self.model.forget(rows)

    # -- predicting ------------------------------------------------------------------------

    def decision_one(self, x: Features) -> float | list[float]:
        """Return f(x) of a dict: positive for the second class that came; 0 before any row.

        Of more classes a list, one of each in the order they came.
        """
        values = _read_numbers(x)
        if self.model is None:
            return 0.0
        row = self._row(values, self.model.n_features_in_)
        return self.model.decision_function(row)[0].tolist()

    def predict_one(self, x: Features, **kwargs: object) -> Hashable | None:
        """Predict the class of a dict: the only one so far, None before the first label."""
        if len(self._classes) < 2:
            return self._classes[0] if self._classes else None
        decision = np.array([self.decision_one(x)])
        return self._classes[int(class_of(decision)[0])]


def _read_numbers(x: Features) -> dict[Hashable, float]:
    numbers = {}
    for name, value in x.items():
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise ValueError(
                f"feature {name!r} is {value!r}, which is not a number; encode it first, for "
                "example with river's OneHotEncoder."
            ) from None
        except OverflowError:
            number = np.inf
        if not np.isfinite(number):
            what = "NaN" if np.isnan(number) else "infinity or a number too large"
            raise ValueError(
                f"feature {name!r} is {what}; fill it in, for example with river's StatImputer, "
                "or leave it out of the dict, which counts as 0."
            )
        numbers[name] = number
    return numbers
