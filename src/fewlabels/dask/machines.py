"""Models whose rows lie on a Dask cluster."""

from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from distributed import default_client
from sklearn.base import clone

from ..estimators import PUSVM, S3VM, SVDD, OneClassSVM
from ..estimators.calls import fitting
from ..estimators.elsewhere.one_class import fit_elsewhere
from ..estimators.elsewhere.positive_unlabelled import fit_pu_elsewhere, read_positive
from ..estimators.elsewhere.semi_supervised import fit_semi_elsewhere, label_of
from ..estimators.semi_supervised.reading import read_labels, refuse_no_labels
from ..labels.arrays import with_missing
from . import lazy
from .place import ClusterPlace
from .reading import coded_rows, is_collection, labels_of, positive_rows


class OnCluster:
    """What models on a cluster share: where rows are, ``to_local``, and lazy values."""

    client: Any

    @contextmanager
    def _placed(self, read_labels=None, **collections):
        """The ``ClusterPlace`` of collections, for as long as a fit takes."""
        client = default_client() if self.client is None else self.client
        if client.asynchronous:
            raise ValueError(
                f"{type(self).__name__}.fit needs a synchronous Client; this one is asynchronous."
            )
        place = ClusterPlace(self, client, read_labels, **collections)
        try:
            if hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            if place.names is not None:
                self.feature_names_in_ = np.array(place.names, dtype=object)
            yield place
        finally:
            place.release()

    def to_local(self):
        """The model without its cluster: one to keep, save and export as any other.

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

    def _scorer(self):
        """What tasks evaluate: they share a worker's threads."""
        local = self.to_local()
        return local.set_params(n_jobs=1) if local.n_jobs is None else local

    def __getstate__(self):
        """Without the client, which no other process could use."""
        return {**super().__getstate__(), "client": None}

    def __sklearn_clone__(self):
        """With the same client."""
        values = {
            name: value if name == "client" else clone(value, safe=False)
            for name, value in self.get_params(deep=False).items()
        }
        return type(self)(**values)

    def _mapped(self, method, X, dtype, options):
        several = method == "decision_function" and len(getattr(self, "classes_", ())) > 2
        columns = self.classes_ if several else None
        return lazy.mapped(self._scorer(), method, X, dtype, columns, **options)

    def decision_function(self, X, *more, **options):
        """As the local model's; of a collection a collection, which is lazy."""
        if is_collection(X):
            return self._mapped("decision_function", X, float, options)
        return super().decision_function(X, *more, **options)

    def predict(self, X, *more, **options):
        """As the local model's; of a collection a collection, which is lazy."""
        if is_collection(X):
            classes = getattr(self, "classes_", np.empty(0, np.intp))
            return self._mapped("predict", X, classes.dtype, options)
        return super().predict(X, *more, **options)


class NormalOnCluster(OnCluster):
    """What models of one class add."""

    @fitting
    def fit(self, X, y=None, sample_weight=None, callback=None, anomalies=None) -> Self:
        """Fit the model to rows on the cluster, to the optimum of the local model.

        Parameters
        ----------
        X : Dask array, Dask data frame, or list of delayed partitions
            Rows of the one class; partitions are arrays, CSR arrays or data frames.
        y : ignored
            For compatibility.
        sample_weight : the same of one column, default=None
            Weights, cut at the same rows; rows of weight <= 0 are left out.
        callback : callable, default=None
            Called with the newest entry of ``history_`` after every round; returning
            True stops the fit.
        anomalies : None
            Confirmed anomalies need rows in memory; anything but None is refused.

        Returns
        -------
        self : estimator
        """
        with self._placed(X=X, y=None, sample_weight=sample_weight) as place:
            return fit_elsewhere(self, place, callback, anomalies)

    def score_samples(self, X, *more, **options):
        """As the local model's; of a collection a collection, which is lazy."""
        if is_collection(X):
            return self._mapped("score_samples", X, float, options)
        return super().score_samples(X, *more, **options)

    def p_values(self, X, smoothed=False, **options):
        """As the local model's; of a collection a collection, which is lazy."""
        if is_collection(X):
            self._calibrated()  # or says why not
            return self._mapped("p_values", X, float, {"smoothed": smoothed, **options})
        return super().p_values(X, smoothed, **options)


@dataclass(eq=False, repr=False)
class DaskSVDD(NormalOnCluster, SVDD):
    """:class:`fewlabels.SVDD` of rows on a Dask cluster: the same ball, from the same parameters.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        The cluster; None takes the default client. All other parameters are those of
        :class:`fewlabels.SVDD`, ``kernel`` being "rbf", "poly" or "linear".

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from fewlabels.dask import DaskSVDD
    >>> client = Client(processes=False, dashboard_address=None)
    >>> rows = da.random.default_rng(0).normal(size=(4000, 2), chunks=(1000, 2))
    >>> machine = DaskSVDD().fit(rows)
    >>> machine.predict(rows)[:3].compute()
    array([-1,  1,  1])
    >>> machine.to_local()
    SVDD()
    >>> client.close()
    """

    local: ClassVar[type] = SVDD
    _parameter_constraints: ClassVar[dict] = {
        **SVDD._parameter_constraints, "client": "no_validation"
    }  # fmt: skip

    client: Any = None


@dataclass(eq=False, repr=False, kw_only=True)
class DaskOneClassSVM(NormalOnCluster, OneClassSVM):
    """:class:`fewlabels.OneClassSVM` of rows on a Dask cluster, from the same parameters.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        The cluster; None takes the default client. All other parameters are those of
        :class:`fewlabels.OneClassSVM`, ``kernel`` being "rbf", "poly" or "linear".
    """

    local: ClassVar[type] = OneClassSVM
    _parameter_constraints: ClassVar[dict] = {
        **OneClassSVM._parameter_constraints, "client": "no_validation"
    }  # fmt: skip

    client: Any = None


@dataclass(eq=False, repr=False)
class DaskPUSVM(OnCluster, PUSVM):
    """:class:`fewlabels.PUSVM` of rows on a Dask cluster, from the same parameters.

    Two things are as they are for rows in files: with ``threshold="leave-one-out"`` a bound takes
    the place of the span rule, and ``prior="estimate"`` looks at a sample.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        The cluster; None takes the default client. All other parameters are those of
        :class:`fewlabels.PUSVM`, ``kernel`` being "rbf", "poly" or "linear".
    """

    local: ClassVar[type] = PUSVM
    _parameter_constraints: ClassVar[dict] = {
        **PUSVM._parameter_constraints, "client": "no_validation"
    }  # fmt: skip

    client: Any = None

    @fitting
    def fit(self, X, y, sample_weight=None, callback=None) -> Self:
        """Fit the model to rows on the cluster, to the optimum of the local model.

        Parameters
        ----------
        X : Dask array, Dask data frame, or list of delayed partitions
            Rows; partitions are arrays, CSR arrays or data frames.
        y : the same of one column
            Labels, cut at the same rows, as :meth:`fewlabels.PUSVM.fit` takes them.
        sample_weight : the same of one column, default=None
            Weights, cut at the same rows; rows of weight <= 0 are left out.
        callback : callable, default=None
            Called with the newest entry of ``history_`` after every round; returning
            True stops the fit.

        Returns
        -------
        self : estimator
        """
        self._check_settings()
        classes = None if y is not None else read_positive(self, None, 0)

        def read_labels(parts):
            nonlocal classes
            values = labels_of(parts)
            classes = read_positive(self, values, len(values))[1]
            return partial(positive_rows, label=classes[1])

        with self._placed(read_labels, X=X, y=y, sample_weight=sample_weight) as place:
            return fit_pu_elsewhere(self, place, classes, callback)


@dataclass(eq=False, repr=False)
class DaskS3VM(OnCluster, S3VM):
    """:class:`fewlabels.S3VM` of rows on a Dask cluster, from the same parameters.

    Rows stay on the workers. The client holds labels, variables and decisions, about 200 bytes a
    row, and every round brings it 8 bytes a row.

    Parameters
    ----------
    kernel : "linear"
        No other is possible.
    client : distributed.Client or None, default=None
        The cluster; None takes the default client. All other parameters are those of
        :class:`fewlabels.S3VM`.
    """

    local: ClassVar[type] = S3VM
    _parameter_constraints: ClassVar[dict] = {
        **S3VM._parameter_constraints, "client": "no_validation"
    }  # fmt: skip

    kernel: str = "linear"
    client: Any = None

    @fitting
    def fit(self, X, y, sample_weight=None, callback=None) -> Self:
        """Fit the model to rows on the cluster, to the local minimum of one model.

        Parameters
        ----------
        X : Dask array, Dask data frame, or list of delayed partitions
            Rows; partitions are arrays, CSR arrays or data frames.
        y : the same of one column
            Labels, cut at the same rows, as :meth:`fewlabels.S3VM.fit` takes them.
        sample_weight : the same of one column, default=None
            Weights > 0, cut at the same rows.
        callback : callable, default=None
            Called with the newest entry of ``history_`` after every round; returning
            True stops the fit.

        Returns
        -------
        self : estimator
        """
        refuse_no_labels(type(self).__name__, y)
        classes = None

        def read_classes(parts):
            nonlocal classes
            values = labels_of(parts)
            codes, classes = read_labels(values, self.unlabeled)
            values, missing = with_missing(values)
            known, first = np.unique(values[~missing], return_index=True)
            return partial(coded_rows, known=known, codes=codes[~missing][first])

        with self._placed(read_classes, X=X, y=y, sample_weight=sample_weight) as place:
            label = np.concatenate(place.ask(label_of))
            return fit_semi_elsewhere(self, place, label, classes, callback)
