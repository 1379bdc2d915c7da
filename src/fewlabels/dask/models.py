"""Models whose rows lie on a Dask cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import dask.array as da
import numpy as np
import numpy.typing as npt
import pandas as pd
from dask import delayed
from distributed import Client
from sklearn.base import clone

from .._typing import AnyArray, FloatArray, MatrixLike, VectorLike
from .._util.available import available_if
from ..data.labels.arrays import split_missing
from ..data.labels.positive_unlabelled import read_labels
from ..one_class.one_class_svm import OneClassSVM
from ..one_class.svdd import SVDD
from ..positive_unlabelled.pusvm import PUSVM
from ..rows.source import RowSource, ShardedSource
from ..semi_supervised import arguments
from ..semi_supervised.s3vm import S3VM
from .reading import Collection, code_labels, get_labels, is_collection, mark_positive
from .source import ClusterSource, find_client

if TYPE_CHECKING:
    from ..base.kernel_estimator import KernelEstimator

    class LocalModel(KernelEstimator):
        """Attributes that the local class of a model on a cluster may have."""

        n_jobs: int | None
        classes_: AnyArray
        n_features_in_: int
        feature_names_in_: AnyArray

        def decision_function(self, X: Any, *more: Any, **options: Any) -> Any: ...
        def predict(self, X: Any, *more: Any, **options: Any) -> Any: ...
        def score_samples(self, X: Any, *more: Any, **options: Any) -> Any: ...
        def p_values(self, X: Any, smoothed: bool = False, **options: Any) -> Any: ...
        def _get_conformal(self) -> Any: ...
else:
    LocalModel = object


class OnCluster(LocalModel):
    """The base of models on a cluster: where rows are, ``to_local``, and lazy values."""

    client: Client | None
    local: ClassVar[type[KernelEstimator]]

    @available_if(lambda model: hasattr(model.local, "score_samples"))
    def score_samples(self, X: MatrixLike | Collection, *more: Any, **options: Any) -> Any:
        """As the local model's; of a collection a collection, which is lazy."""
        if is_collection(X):
            return self._map_rows("score_samples", X, float, options)
        return super().score_samples(X, *more, **options)

    def decision_function(self, X: MatrixLike | Collection, *more: Any, **options: Any) -> Any:
        """As the local model's; of a collection a collection, which is lazy."""
        if is_collection(X):
            return self._map_rows("decision_function", X, float, options)
        return super().decision_function(X, *more, **options)

    def predict(self, X: MatrixLike | Collection, *more: Any, **options: Any) -> Any:
        """As the local model's; of a collection a collection, which is lazy."""
        if is_collection(X):
            classes = getattr(self, "classes_", np.empty(0, np.intp))
            return self._map_rows("predict", X, classes.dtype, options)
        return super().predict(X, *more, **options)

    @available_if(lambda model: hasattr(model.local, "p_values"))
    def p_values(self, X: MatrixLike | Collection, smoothed: bool = False, **options: Any) -> Any:
        """As the local model's; of a collection a collection, which is lazy."""
        if is_collection(X):
            self._get_conformal()  # or says why not
            return self._map_rows("p_values", X, float, {"smoothed": smoothed, **options})
        return super().p_values(X, smoothed, **options)

    def to_local(self) -> Any:
        """Return the model without its cluster: one to keep, save and export as any other.

        Returns
        -------
        estimator
            Of the local class, fitted if this one is.
        """
        values = self.get_params(deep=False)
        del values["client"]
        local = self.local(**values)
        if self.__sklearn_is_fitted__():
            state = self.__getstate__()
            del state["client"]
            local.__setstate__(state)
        return local

    def _source(
        self,
        X: MatrixLike | ShardedSource | Collection,
        sample_weight: VectorLike | Collection | None = None,
        *,
        y: VectorLike | Collection | None = None,
        anomalies: VectorLike | None = None,
    ) -> ClusterSource:
        """Return the ``ClusterSource`` of collections, which a fit releases."""
        client = find_client(type(self).__name__, self.client)
        source = ClusterSource(type(self).__name__, client, X=X, y=y, sample_weight=sample_weight)
        try:
            self._check_source(source, anomalies)
        except BaseException:
            source.release()
            raise
        self.n_features_in_ = source.shape[1]
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if source.names is not None:
            self.feature_names_in_ = np.array(source.names, dtype=object)
        return source

    def _scorer(self) -> Any:
        """Return the object that tasks evaluate: they share a worker's threads."""
        local = self.to_local()
        return local.set_params(n_jobs=1) if local.n_jobs is None else local

    def __getstate__(self) -> dict[str, Any]:
        """Without the client, which no other process could use."""
        return {**super().__getstate__(), "client": None}

    def __sklearn_clone__(self) -> Self:
        """With the same client."""
        values = {
            name: value if name == "client" else clone(value, safe=False)
            for name, value in self.get_params(deep=False).items()
        }
        return type(self)(**values)

    def _map_rows(
        self, method: str, X: Collection, dtype: npt.DTypeLike, options: Mapping[str, object]
    ) -> Collection:
        several = method == "decision_function" and len(getattr(self, "classes_", ())) > 2
        columns = self.classes_ if several else None
        return map_rows(self._scorer(), method, X, dtype, columns, **options)


@dataclass(eq=False, repr=False)
class DaskSVDD(OnCluster, SVDD):
    """:class:`fewlabels.SVDD` for rows on a Dask cluster: the same ball and parameters.

    ``fit`` takes X, and ``sample_weight`` cut at the same rows, as Dask arrays, Dask data frames
    or lists of delayed partitions, which are arrays, CSR arrays or data frames.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        The cluster; None takes the default client. All other parameters are as in
        :class:`fewlabels.SVDD`, ``kernel`` being "rbf", "poly" or "linear".

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from fewlabels.dask import DaskSVDD
    >>> client = Client(processes=False, dashboard_address=None)
    >>> rows = da.random.default_rng(0).normal(size=(4000, 2), chunks=(1000, 2))
    >>> model = DaskSVDD().fit(rows)
    >>> model.predict(rows)[:3].compute()
    array([-1,  1,  1])
    >>> model.to_local()
    SVDD()
    >>> client.close()
    """

    local: ClassVar[type] = SVDD
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SVDD._parameter_constraints,
        "client": "no_validation",
    }

    client: Client | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class DaskOneClassSVM(OnCluster, OneClassSVM):
    """:class:`fewlabels.OneClassSVM` for rows on a Dask cluster, with the same parameters.

    ``fit`` takes collections as :class:`DaskSVDD` does.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        The cluster; None takes the default client. All other parameters are as in
        :class:`fewlabels.OneClassSVM`, ``kernel`` being "rbf", "poly" or "linear".
    """

    local: ClassVar[type] = OneClassSVM
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **OneClassSVM._parameter_constraints,
        "client": "no_validation",
    }

    client: Client | None = None


@dataclass(eq=False, repr=False)
class DaskPUSVM(OnCluster, PUSVM):
    """:class:`fewlabels.PUSVM` for rows on a Dask cluster, with the same parameters.

    ``fit`` takes collections as :class:`DaskSVDD` does, and y cut at the same rows. Two things are
    as they are for rows in files: with ``threshold="leave-one-out"`` a bound takes the place of
    the span rule, and ``prior="estimate"`` looks at a sample.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        The cluster; None takes the default client. All other parameters are as in
        :class:`fewlabels.PUSVM`, ``kernel`` being "rbf", "poly" or "linear".
    """

    local: ClassVar[type] = PUSVM
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **PUSVM._parameter_constraints,
        "client": "no_validation",
    }

    client: Client | None = None

    def _mark_positive(self, source: ShardedSource, y: VectorLike) -> AnyArray:
        assert isinstance(source, ClusterSource)  # which has the labels
        values = source.labels()
        _, classes = read_labels(values, self.pos_label)
        source.mark(partial(mark_positive, label=classes[1]))
        return classes


@dataclass(eq=False, repr=False)
class DaskS3VM(OnCluster, S3VM):
    """:class:`fewlabels.S3VM` for rows on a Dask cluster, with the same parameters.

    ``fit`` takes collections as :class:`DaskSVDD` does, and y cut at the same rows. Rows stay on
    the workers. The client holds labels, variables and decisions, about 200 bytes a row, and every
    round brings it 8 bytes a row.

    Parameters
    ----------
    kernel : "linear"
        No other is possible.
    client : distributed.Client or None, default=None
        The cluster; None takes the default client. All other parameters are as in
        :class:`fewlabels.S3VM`.
    """

    local: ClassVar[type] = S3VM
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **S3VM._parameter_constraints,
        "client": "no_validation",
    }

    kernel: str = "linear"
    client: Client | None = None

    def _read_labels(self, rows: RowSource, y: VectorLike) -> tuple[FloatArray, AnyArray]:
        assert isinstance(rows, ClusterSource)  # which has the labels
        values = rows.labels()
        codes, classes = arguments.read_labels(values, self.unlabeled)
        values, missing = split_missing(values)
        known, first = np.unique(values[~missing], return_index=True)
        rows.mark(partial(code_labels, known=known, codes=codes[~missing][first]))
        return np.concatenate(rows.call_all(get_labels)), classes


def map_rows(
    model: Any,
    method: str,
    X: Collection,
    dtype: npt.DTypeLike,
    columns: AnyArray | None = None,
    **options: object,
) -> Collection:
    """``model.method`` of the rows of a collection: a collection of the same kind.

    Where there are ``columns``, a row has a value for each.
    """
    nothing = np.empty(0 if columns is None else (0, len(columns)), dtype)
    if hasattr(X, "map_partitions") and not isinstance(X, da.Array):
        # Older data frames do not wait for delayed arguments.
        meta = _to_frame(nothing, None, method, columns)
        return X.map_partitions(
            _evaluate_frame, model, method, options, nothing, columns, meta=meta
        )
    model = delayed(model, pure=True)
    if isinstance(X, da.Array):
        X = X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X
        shape: dict[str, Any] = {"drop_axis": 1, "meta": np.empty(0, dtype)}
        if columns is not None:
            shape = {"chunks": (X.chunks[0], (len(columns),)), "meta": np.empty((0, 0), dtype)}
        map_blocks: Any = X.map_blocks  # which passes on what it doesn't know
        return map_blocks(_evaluate, model, method, options, nothing, dtype=dtype, **shape)
    value = delayed(_evaluate)
    parts = X if isinstance(X, list | tuple) else [X]
    found = [value(part, model, method, options, nothing) for part in parts]
    return found if isinstance(X, list | tuple) else found[0]


def _evaluate(
    X: Any, model: Any, method: str, options: Mapping[str, object], nothing: AnyArray
) -> AnyArray:
    """Return the model's values of rows; ``nothing`` if there are none."""
    return getattr(model, method)(X, **options) if X.shape[0] else nothing


def _evaluate_frame(
    X: pd.DataFrame,
    model: Any,
    method: str,
    options: Mapping[str, object],
    nothing: AnyArray,
    columns: AnyArray | None,
) -> pd.Series | pd.DataFrame:
    values = _evaluate(X, model, method, options, nothing)
    return _to_frame(values, X.index, method, columns)


def _to_frame(
    values: AnyArray, index: pd.Index | None, method: str, columns: AnyArray | None
) -> pd.Series | pd.DataFrame:
    if columns is None:
        return pd.Series(values, index=index, name=method)
    return pd.DataFrame(values, index=index, columns=columns)
