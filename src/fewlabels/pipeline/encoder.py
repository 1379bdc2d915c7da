"""What the command line makes of a table's columns, as a transformer of scikit-learn."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .._typing import IntArray, ObjectArray, RowMatrix, TableLike, VectorLike
from .._util.messages import UserError, plural
from .._util.option import as_names
from ..data.labels.arrays import split_missing
from ..data.labels.semi_supervised import UNLABELED, is_labelled
from ..tables.columns.profile import ColumnProfile
from ..tables.columns.tally import Tally
from ..tables.columns.target import choose_all_rows
from ..tables.encoding.fit import feature_names
from ..tables.reading.chunks import iterate_chunks
from ..tables.reading.options import ColumnOptions
from ..tables.reading.training import read_training
from ..tables.sources import InMemory
from ..tables.user_data import make_source
from .observer import Observer
from .training.encoding import EncodingOptions, encode


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn a table of mixed columns into numbers: what ``fewlabels fit`` and ``fit_table`` do.

    Use it as the first step of a scikit-learn pipeline for data frames. Numbers are
    standardised, categories become one 0/1 column each, yes and no in words one, sentences
    become TF-IDF of their words and pairs of words. Missing numbers are filled in with the
    median, and another 0/1 column marks them. Identifiers, dates, names and constants are left
    out; ``profile_`` and ``notes_`` say what was done with each column and why. With texts, or
    many categories, the result is sparse.

    Parameters
    ----------
    text : str or sequence of str, default=()
        Columns whose words are encoded although their texts are short; sentences are found by
        themselves.
    drop : str or sequence of str, default=()
        Columns to leave out.
    keep : str or sequence of str, default=()
        Columns to encode although they look like an identifier, a date or a constant, or seem to
        come with the labels.
    categorical : str or sequence of str, default=()
        Columns of categories although they hold numbers, or yes and no.
    missing : {"impute", "refuse"}, default="impute"
        Missing numbers are filled in with the median, or are an error.
    scale : "auto" or bool, default="auto"
        Whether numbers are scaled to mean 0 and variance 1. "auto": unless all columns are numbers
        of one unit, which is where rows are all of one length, or most columns reach the same
        largest value and about the same smallest one.
    text_weight : "auto" or float, default="auto"
        Variance of all text columns together, as a multiple of all other columns' variance. "auto"
        takes the one of six by which rows held out are separated best from other classes, and
        leaves out numbers, categories or texts without which they are separated better; 1 without
        ``y``.
    weigh_rare : {"auto", True, False}, default="auto"
        Whether 0/1 columns are multiplied by w = sqrt(10 p), at most 1, with p the share of ones,
        so that rare categories do not make a row odd by themselves; where a column has three or
        more of them, such rows have 1 - w in the 0/1 column of its most frequent category. Then
        a column of its own is for categories that occur once or never, and others mark blanks and
        texts without a known word. "auto": without ``y``, where rows are of one class.

    Attributes
    ----------
    encoder_ : ColumnTransformer or transformer
        What encodes the columns that are taken.
    schema_ : Schema
        These columns and their kinds.
    profile_ : DataFrame
        All columns of the table and how they were taken; empty for a matrix.
    notes_ : list of str
        What the user should know.
    text_weight_ : float
        The weight of the texts; inf where all other columns were left out.
    feature_names_in_ : ndarray of str
        Names of the columns of the table.
    n_features_in_ : int
        How many there are.

    See Also
    --------
    fewlabels.fit_table : The same encoder with the model that suits the labels.

    Examples
    --------
    >>> import pandas as pd
    >>> from fewlabels import TableEncoder
    >>> table = pd.DataFrame({
    ...     "size": [1.0, 2.0, None, 4.0], "town": ["a", "b", "a", "b"],
    ...     "note": ["the pump leaks", "the pump is fine", "it leaks again", "all is fine"]})
    >>> encoder = TableEncoder(text="note").fit(table)
    >>> [str(name) for name in encoder.get_feature_names_out()[:5]]
    ['size', 'town_a', 'town_b', 'town_once_or_never', 'new_blanks']
    >>> encoder.transform(table).shape
    (4, 21)
    """

    def __init__(
        self,
        *,
        text: str | Sequence[str] = (),
        drop: str | Sequence[str] = (),
        keep: str | Sequence[str] = (),
        categorical: str | Sequence[str] = (),
        missing: str = "impute",
        scale: str | bool = "auto",
        text_weight: str | float = "auto",
        weigh_rare: str | bool = "auto",
    ) -> None:
        self.text = text
        self.drop = drop
        self.keep = keep
        self.categorical = categorical
        self.missing = missing
        self.scale = scale
        self.text_weight = text_weight
        self.weigh_rare = weigh_rare

    def fit(self, X: TableLike, y: VectorLike | None = None) -> Self:
        """Look at the columns and fit what encodes them.

        Parameters
        ----------
        X : DataFrame of pandas or polars, pyarrow.Table, ndarray or sparse matrix
            The table.
        y : array-like of shape (n_rows,), default=None
            Classes of the rows, for the weight of texts; -1, NaN, None or "" where unknown. With
            one class alone, its rows are separated from the unlabelled ones.

        Returns
        -------
        TableEncoder
            Itself.
        """
        self._fit(X, y)
        return self

    def fit_transform(self, X: TableLike, y: VectorLike | None = None) -> RowMatrix:
        """Fit to a table, and encode it.

        Parameters
        ----------
        X, y
            As in :meth:`fit`.

        Returns
        -------
        ndarray or sparse matrix of shape (n_rows, n_columns_out)
            The encoded rows.
        """
        return self.fit(X, y).transform(X)

    def transform(self, X: TableLike) -> RowMatrix:
        """Encode rows with the columns of the table, in any order and with others between them.

        Parameters
        ----------
        X : DataFrame of pandas or polars, pyarrow.Table, ndarray or sparse matrix
            Rows.

        Returns
        -------
        ndarray or sparse matrix of shape (n_rows, n_columns_out)
            The encoded rows.
        """
        check_is_fitted(self)
        with _as_value_error():
            source = _source(X)
            tally, parts = Tally(source), []
            # In pieces, as files are scored.
            for chunk in iterate_chunks(source, self.schema_, tally):
                if not tally.refuses:
                    parts.append(self.encoder_.transform(chunk.rows))
        return sp.csr_array(sp.vstack(parts)) if sp.issparse(parts[0]) else np.concatenate(parts)

    def get_feature_names_out(self, input_features: Iterable[str] | None = None) -> ObjectArray:
        """Return names of the encoded columns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Ignored but for the check that these are the columns of the table.

        Returns
        -------
        ndarray of object
            Names such as "size", "town_a", "missingindicator_size" and "note: leaks".
        """
        check_is_fitted(self)
        given = None if input_features is None else list(input_features)
        if given is not None and given != list(self.feature_names_in_):
            raise ValueError("input_features is not equal to feature_names_in_.")
        return feature_names(self.encoder_, self.schema_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.allow_nan = self.missing == "impute"
        return tags

    def _fit(self, X: TableLike, y: VectorLike | None) -> None:
        if self.missing not in ("impute", "refuse"):
            raise ValueError(f"missing={self.missing!r} is not valid; pass 'impute' or 'refuse'.")
        weight = self.text_weight
        if weight != "auto" and not (isinstance(weight, int | float) and 0 < weight < np.inf):
            raise ValueError(f"text_weight={weight!r} must be 'auto' or a number greater than 0.")
        with _as_value_error():
            source = _source(X)
            columns = ColumnOptions(
                text=as_names(self.text),
                drop=as_names(self.drop),
                keep=as_names(self.keep),
                categorical=as_names(self.categorical),
            )
            file = read_training(source, columns)
            known = None if y is None else _codes(y, file.n_rows)
            labels = known
            if known is not None and len(np.unique(known[known >= 0])) == 1:
                labels = (known >= 0).astype(int)
            rare = y is None if self.weigh_rare == "auto" else bool(self.weigh_rare)
            options = EncodingOptions(
                self.missing,
                self.scale,
                text_weight=None if weight == "auto" else float(weight),
                weigh_rare=rare,
            )
            rows = choose_all_rows(file.n_rows)
            encoded = encode(file, rows, options, y=labels, known=known)
        found, weighing = encoded.found, encoded.weighing
        schema = dataclasses.replace(encoded.schema, empty_rows="")  # every row is transformed
        self.text_weight_ = 1.0 if weight == "auto" else float(weight)
        if weighing is not None:
            self.text_weight_ = np.inf if schema.only_texts else weighing.ratio
        self.encoder_, self.schema_ = encoded.encoder, schema
        self.notes_ = [Observer().words(note) for note in found.notes]
        names = [field.name for field in dataclasses.fields(ColumnProfile)]
        self.profile_ = pd.DataFrame([dataclasses.asdict(c) for c in found.profile], columns=names)
        if source.form == "frame":
            self.feature_names_in_ = np.array(source.content.column_names, dtype=object)
            self.n_features_in_ = len(self.feature_names_in_)
        else:
            self.n_features_in_ = schema.n_columns


@contextlib.contextmanager
def _as_value_error() -> Iterator[None]:
    """Say what is wrong with a table as a ValueError."""
    try:
        yield
    except UserError as error:
        raise ValueError(str(error)) from error


def _source(X: TableLike) -> InMemory:
    source = make_source(X)
    if not isinstance(source, InMemory):
        raise UserError("The encoder takes rows in memory; read the file, or call fit_table.")
    return source


def _codes(y: VectorLike, n_rows: int) -> IntArray:
    """Return classes as 0, 1, ..., and -1 for rows of unknown class."""
    values, _ = split_missing(y)
    if len(values) != n_rows:
        raise ValueError(
            f"y has {len(values)} values and X {plural(n_rows, 'row')}; give one per row."
        )
    labelled, codes = is_labelled(y, UNLABELED), np.full(n_rows, -1)
    codes[labelled] = pd.factorize(pd.Series(values[labelled]).astype(str), sort=True)[0]
    return codes
