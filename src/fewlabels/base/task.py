"""What a task is: which rows and labels it has, and the methods that learn it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

if TYPE_CHECKING:  # commands import this, and NumPy would be slow
    from .._typing import BoolArray, IntArray


class Method(NamedTuple):
    """A method by its name on the command line; models hold their rows where ``keeps_rows``.

    ``is_baseline``: whether it is a simple method, the name of which is the estimator's
    ``method``. ``probability`` is the curve to probabilities that its models get, and
    ``takes_files`` says whether it can learn from all rows of a file larger than memory.
    """

    estimator: str
    title: str
    keeps_rows: bool = False
    is_baseline: bool = False
    probability: str | None = None
    takes_files: bool = False


# Words of every report.
_COMMON_TERMS = (
    (
        "Interval",
        "A 90 % confidence interval: it contains the true value in nine of ten cases, if the "
        "stated assumptions hold. Few rows give wide intervals.",
    ),
    (
        "Held-out rows",
        "Labelled rows that a model wasn't trained on. Its errors on them predict its errors "
        "on new rows. Its errors on training rows don't.",
    ),
    (
        "Support vectors",
        "The training rows that define the boundary. Without the other rows, the boundary "
        "would be the same.",
    ),
    (
        "Kernel",
        "A function that measures how similar two rows are. The width of the Gaussian kernel "
        "(rbf) is set by gamma: the larger gamma, the closer two rows must be to count as "
        "similar.",
    ),
)


class Task(ABC):
    """Something that can be learnt from a table.

    Attributes
    ----------
    name : str
        The name of its package, and of its modules in other packages.
    key : str
        Its name in model files and reports, and the option that selects its class, if it has one.
    rows : str
        The rows that it needs, in words.
    methods : dict of str to Method
        By their names on the command line.
    usual : str
        The method that is taken where nothing speaks for another, and that simple methods are
        compared with.
    unlabelled : int
        The label of rows of unknown class. Known classes have greater ones.
    takes_labels : bool
        Whether its models learn from labels, so that a column has to say which rows are which.
    has_prior : bool
        Whether its models estimate or take a class prior, which the labels can contradict.
    options : tuple of str
        Options that this task has and not every other.
    columns : tuple of str
        Columns that a table may get with the scores, beside "score" and "label".
    fits : float
        Fits that have to be made, as shares of one of all rows: the model, and those that
        labelled rows are held out of, for probabilities and for the report.
    fits_to_come : int
        Fits of the model that a search for settings leaves time for.
    solves_several : bool
        Whether a fit solves several problems, one after the other.
    score : str
        The measure by which methods are compared.
    terms : tuple of (str, str)
        Words that reports of this task use and not every other, with what they mean.
    """

    name: str
    key: str
    rows: str
    methods: ClassVar[dict[str, Method]]
    usual: str
    unlabelled = -1
    takes_labels = True
    has_prior = False
    options: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    fits: float
    fits_to_come = 1
    solves_several = False
    score: str
    terms: tuple[tuple[str, str], ...] = ()

    @property
    def estimators(self) -> list[str]:
        """Names of its estimators that are no simple methods."""
        return [one.estimator for one in self.methods.values() if not one.is_baseline]

    @abstractmethod
    def is_suitable(self, counts: Sequence[int], n_blank: int) -> bool:
        """Return whether a target suits this task, from its rows by class and without a class."""

    def class_names(self, training: Mapping[str, Any]) -> dict[int, str | None]:
        """Return the names of known classes by their labels, from the training in a model file.

        A class that had no name in the table has None.
        """
        return {self.unlabelled + 1: training.get(self.key)}

    def is_known(self, y: IntArray) -> BoolArray:
        """Return a mask of the rows that have a known class, by their labels."""
        return y > self.unlabelled

    @property
    def glossary(self) -> list[tuple[str, str]]:
        """Words of its reports for people who meet them the first time, with what they mean."""
        return [*self.terms, *_COMMON_TERMS]

    def format_score(self, score: float) -> str:
        """Return a score in words."""
        return f"{score:.3f}"

    def __repr__(self) -> str:
        return type(self).__name__
