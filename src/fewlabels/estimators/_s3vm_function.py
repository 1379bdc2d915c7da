"""The function that a stream stands at, and what can be said about it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ..gram import Expansion
from ._s3vm_batch import objective, violation
from ._s3vm_data import S3VMData

# Decisions of unlabelled rows this small may have either sign.
_ZERO = 1e-9


class StreamFunction:
    """What an S3VM reads off its stream."""

    def data(self, X=None, make=None):
        """Labels and weights of the training rows; for training, with rows and kernel."""
        places = self.places
        balance = self.balance if self.ready else False
        return S3VMData(X, self.label[places], self.weight[places], make, balance)

    def now(self):
        """The function, at every place.

        ``a`` variables, ``coef`` coefficients (the virtual row's spread over the rows that it
        is the mean of), ``f`` decisions, nan for rows that the path has not reached. On the
        boundary a row may be on either side: its f has the sign that the path gives it.
        """
        n, path = self.held.n_places, self.path
        a, coef, f = np.zeros(n), np.zeros(n), np.full(n, np.nan)
        if self.start is not None:
            return self._now_at_start()
        if path is None:
            labels = np.unique(self.label[self.held.alive & (self.label != 0)])
            multiplier = -float(labels[0]) if len(labels) else 0.0
            f[:] = -multiplier
            return SimpleNamespace(a=a, coef=coef, f=f, multiplier=multiplier)
        in_mean = path.signs != 0
        a[self._on_path] = path.a
        coef[self._on_path] = path.a + in_mean * (path.virtual / max(1, in_mean.sum()))
        f[self._on_path] = path.h
        at_zero = in_mean & (np.abs(path.h) <= _ZERO)
        f[self._on_path[at_zero]] = path.signs[at_zero] * np.finfo(float).tiny
        return SimpleNamespace(a=a, coef=coef, f=f, multiplier=path.multiplier)

    def _now_at_start(self):
        """The function of ``start``."""
        places, start = self.places, self.start
        a = np.zeros(self.held.n_places)
        a[: len(start["a"])] = start["a"]
        a[~self.held.alive] = 0.0
        coef, f, multiplier = a.copy(), np.full(len(a), np.nan), start["multiplier"]
        free = places[self.label[places] == 0]
        if self.target() is not None and len(free):
            coef[free] += start["virtual"] * self.weight[free] / self.weight[free].sum()
        support = np.flatnonzero(coef)
        f[places] = -multiplier
        if len(support):
            n_jobs = self.options["n_jobs"]
            expansion = Expansion(
                self.kernel, self.kernel_rows(support), coef[support], n_jobs=n_jobs
            )
            f[places] += expansion(self.kernel_rows(places))
        return SimpleNamespace(a=a, coef=coef, f=f, multiplier=multiplier)

    def certificate(self, now):
        """Value of (1) and the largest violation of its optimality conditions."""
        places, data = self.places, self.data()
        known = np.concatenate([places, self._leaving])
        result = SimpleNamespace(
            a=now.coef[known], gradient=now.f[known] + now.multiplier, multiplier=now.multiplier
        )
        C, C_star = self.C * data.weight, self.C_star * data.weight
        f = now.f[places]
        worst = violation(data, now.a[places], f, C, C_star)
        if data.target is not None:
            worst = max(worst, abs(float(data.share @ f[data.unlabeled]) - data.target))
        return objective(data, result, C, self.C_star), worst
