"""Cases over streams with far rows: models follow the kernel that is defined, or say otherwise.

Rows come and go, some of them at 1e3 to 1e30 of the others' size: one or several, equal, close to
each other, or far in a single column. Afterwards an independent reference judges the model: kernel
values from differences in extended precision, and an interior-point solver.
"""

import warnings

import numpy as np
import scipy.sparse as sp
from reference.certificates import objective
from reference.pu import regularised_risk, smallest_risk
from reference.qp import solve_qp

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM

from .verdict import Verdict, require

MODELS = {
    "SVDD": (SVDD, {"C": 0.3}),
    "SVDD linear slack": (SVDD, {"slack": "linear", "nu": 0.3}),
    "OneClassSVM": (OneClassSVM, {"nu": 0.3}),
    "PUSVM": (PUSVM, {"prior": 0.4, "lam": 0.01}),
    "S3VM": (S3VM, {"C": 10.0, "C_star": 5.0}),
    "S3VM free": (S3VM, {"C": 10.0, "C_star": 5.0, "balance": False}),
    "S3VM classes": (S3VM, {"C": 10.0, "C_star": 5.0}),
}
KERNELS = ("rbf", "rbf", "rbf", "rbf", "linear", "poly", "isolation", "manifold", "trees")
DISTANCES = (1e3, 1e5, 1e5, 1e6, 1e6, 1e6, 1e7, 1e7, 1e8, 1e9, 1e12, 1e30)
# Operations, and how many of the rows on average are far.
OPERATIONS = ("far", "far", "equal far", "cluster", "one column", "near", "forget far", "forget")
# Share of sums of kernel values, and of the objective, that rounding and the reference explain.
_VALUES, _OBJECTIVE = 1e-9, 1e-7
# Warnings of something else than what rounding has done: the model is judged nevertheless.
_OTHERS = ("% of the labels are of class", "the radius is 0")
# Means of f follow from models that are fitted to this tolerance, here and in the reference.
_MEANS = 1e-5


class FarRows:
    """A model, the rows it should hold, and what happens to them."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng([13, 9, seed])
        self.name = str(rng.choice(list(MODELS)))
        self.kind, params = MODELS[self.name]
        kernels = [k for k in KERNELS if k != "trees" or self.kind in (PUSVM, S3VM)]
        self.kernel = str(rng.choice(kernels))
        self.d = int(rng.choice([1, 2, 3, 8, 20]))
        self.offset = float(rng.choice([0.0, 0.0, 1e4, -1e6]))
        self.store = str(rng.choice(["dense", "dense", "sparse", "float32"]))
        self.far = float(rng.choice(DISTANCES))
        if self.kernel in ("linear", "poly"):  # whose values grow with the distance
            self.far, self.offset = min(self.far, 1e7), 0.0
        self.n = int(rng.integers(14, 40))
        gamma = float(rng.choice([0.5 / self.d, 2.0, "nan"]))
        self.params = {
            "kernel": self.kernel,
            "gamma": "scale" if np.isnan(gamma) or self.kernel == "poly" else gamma,
            "n_jobs": 1,
            "tol": 1e-6,
            **params,
        }
        if self.kernel == "poly":
            self.params |= {"degree": 2, "coef0": 1.0}
        program = [str(name) for name in rng.choice(OPERATIONS, int(rng.integers(1, 6)))]
        self.program = [*program, "far"] if "forget far" not in program else program
        self.seeds = rng.integers(0, 2**31, len(self.program) + 1)
        if self.kind is S3VM and "balance" not in params:  # half the papers' constraint
            self.params["balance"] = "auto" if rng.random() < 0.5 else True

    def describe(self):
        return (
            f"{self.name} {self.kernel} {self.store} {self.n}x{self.d} at {self.offset:g}, "
            f"far {self.far:g}; {'; '.join(self.program)}"
        )

    # -- rows -----------------------------------------------------------------------------------

    def _near(self, n, first=False):
        side = self.rng.integers(0, 3 if "classes" in self.name else 2, n)
        X = self.rng.normal(size=(n, self.d)) + 1.5 * side[:, None]
        return X + self.offset, self._labels(side, first)

    def _labels(self, side, first=False):
        known = self.rng.random(len(side)) < 0.4
        if self.kind is S3VM:
            y = np.where(known, side, -1)
            if first:
                y[:6] = np.arange(6) % (3 if "classes" in self.name else 2)
            return y
        if self.kind is PUSVM:
            y = (known & (side == 1)).astype(int)
            if first:
                y[:4], y[4:8] = 1, 0
            return y
        return None

    def _place(self):
        """A place that is far away."""
        direction = self.rng.normal(size=self.d)
        return self.offset + self.far * direction / np.abs(direction).max()

    def _rows_of(self, name):
        rng, n = self.rng, int(self.rng.integers(1, 5))
        if name == "near":
            return self._near(n)
        if name == "far":
            X = np.stack([self._place() for _ in range(n if rng.random() < 0.5 else 1)])
        elif name == "equal far":
            X = np.repeat(self._place()[None], n + 1, axis=0)
        elif name == "cluster":
            X = self._place() + rng.normal(size=(n + 1, self.d)) / np.sqrt(self.d)
        else:
            X = self._near(n)[0]
            X[:, int(rng.integers(self.d))] = self._place()[0]
        return X, self._labels(rng.integers(0, 2, len(X)))

    def _stored(self, X):
        if self.store == "float32":
            return X.astype(np.float32)
        return sp.csr_array(X) if self.store == "sparse" else X

    # -- the case -------------------------------------------------------------------------------

    def __call__(self):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            self._run()
            claims = self._claims()
        for w in heard:
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
        if all(any(words in str(w.message) for words in _OTHERS) for w in heard):
            self._check(*claims)
        return Verdict("right", "")  # which the judge turns into a warning if any was heard

    def _run(self):
        self.rng = np.random.default_rng(self.seeds[-1])
        X, y = self._near(self.n, first=True)
        if self.store == "sparse":
            X[self.rng.random(X.shape) < 0.3] = 0.0
        self.model = self.kind(**self.params)
        self.X, self.y, self.is_far = X, y, np.zeros(len(X), bool)
        self.model.fit(self._stored(X), y)
        self.held = self._held_means()  # updates keep them
        for name, seed in zip(self.program, self.seeds[:-1], strict=True):
            self.rng = np.random.default_rng(seed)
            if name.startswith("forget"):
                usable = self.is_far if name == "forget far" else np.arange(len(self.X)) >= 8
                gone = np.flatnonzero(usable)
                gone = gone[self.rng.random(len(gone)) < (0.8 if name == "forget far" else 0.1)]
                self.model.forget(gone)
                self.X, self.is_far = (np.delete(v, gone, 0) for v in (self.X, self.is_far))
                self.y = None if self.y is None else np.delete(self.y, gone)
                continue
            X, y = self._rows_of(name)
            self.model.partial_fit(self._stored(X), y)
            self.X = np.vstack([self.X, X])
            self.y = None if y is None else np.append(self.y, y)
            self.is_far = np.append(self.is_far, np.full(len(X), name != "near"))
        self.X = self._rounded(self.X)

    def _rounded(self, X):
        return X.astype(np.float32).astype(float) if self.store == "float32" else X

    def _held_means(self):
        """The means of f that are held from the first fit on; None where the labels' own are.

        By ``balance="auto"``, where the first rows contradict the labels' class ratio: f of the
        labels alone is moved until the estimated share of the unlabelled rows is positive. The
        mean that it has there is held, or that of signs in these shares if it is nearer to 0.
        """
        if self.kind is not S3VM or self.model.class_ratio_ is None:
            return None
        K, y, held = self._kernel_matrix(self._rounded(self.X)), self.y, []
        known, free = np.flatnonzero(y != -1), np.flatnonzero(y == -1)
        for k in range(len(np.atleast_1d(self.model.intercept_))):
            positive = k if "classes" in self.name else 1
            side = np.where(y[known] == positive, 1.0, -1.0)
            zero, C = np.zeros(len(known)), np.full(len(known), self.params["C"])
            low, high = np.where(side > 0, zero, -C), np.where(side > 0, C, zero)
            a = solve_qp(K[np.ix_(known, known)], (low, low, high, -side, -side), 0.0)[0]
            share = self.model.class_ratio_[positive]
            f = np.sort(K[np.ix_(free, known)] @ a)[::-1]
            reached = np.arange(1, len(f) + 1) / len(f) >= share - 1e-12
            found, usual = f.mean() - f[np.argmax(reached)], 2.0 * share - 1.0
            held.append(max(found, usual) if usual > 0 else min(found, usual))
        return held

    def _claims(self):
        """What the model says of itself."""
        model, coef = self.model, self.model.dual_coef_
        coef = np.atleast_2d(coef.toarray() if sp.issparse(coef) else coef)
        a = np.zeros((len(coef), len(self.X)))
        a[:, model.support_] = coef
        certificate = model.kkt_violation_ if self.kind is S3VM else model.duality_gap_
        f = model.decision_function(self._stored(self.X))
        return a, f, np.atleast_1d(model.objective_), np.atleast_1d(certificate)

    def _check(self, a, f, value, certificate):
        K = self._kernel_matrix()
        size = np.abs(K).max() * max(1.0, np.abs(a).sum(axis=1).max())
        if self.kind is SVDD:
            own = 2.0 * (K @ a[0]) - np.diag(K)
            apart = np.ptp(f - own)
        elif self.kind is OneClassSVM:
            apart = np.ptp(f - K @ a[0])
        else:
            bias = np.atleast_1d(self.model.intercept_)
            sums = (a @ K + bias[:, None]).T if self.kernel != "linear" else None
            apart = 0.0 if sums is None else np.abs(f.reshape(len(f), -1) - sums).max()
        require(apart <= _VALUES * size, f"decision_function is off by {apart / size:.1e}")
        if self.kind is S3VM:
            for k, (own, value_k, rest) in enumerate(zip(a, value, certificate, strict=True)):
                self._check_minimum(K, own, k, value_k, rest, size)
        elif self.kind is PUSVM:
            self._check_risk(K, a[0], value[0], certificate[0], size)
        else:
            self._check_convex(K, a[0], value[0], certificate[0])

    def _check_convex(self, K, a, value, gap):
        """The objective, and what it could gain, of models of one class."""
        model, n = self.model, len(self.X)
        zero, diagonal = np.zeros(n), np.diag(K)
        if self.kind is OneClassSVM:
            penalty, Q, total = (zero, zero, np.ones(n), zero, zero), K, model.nu * n
        elif model.slack == "squared":
            penalty = (zero, zero, np.full(n, np.inf), -diagonal, -diagonal)
            Q, total = 2.0 * K + np.eye(n) / (2.0 * model.C), 1.0
        else:
            C = 1.0 / (model.nu * n)
            penalty, Q, total = (zero, zero, np.full(n, C), -diagonal, -diagonal), 2.0 * K, 1.0
        require(abs(a.sum() - total) <= 1e-9 * total, "dual variables with another sum")
        own = objective(Q, penalty, a)
        scale = max(abs(own), abs(0.5 * a @ Q @ a), 1e-3 * total**2 * np.abs(K).max())
        away = abs(own - value) / scale
        require(away <= _VALUES + abs(gap) / scale, f"objective_ is off by {away:.1e}")
        best = solve_qp(Q, penalty, total)[1]
        require(
            own - best <= gap + _OBJECTIVE * scale,
            f"the optimum is {(own - best) / scale:.1e} away, duality_gap_ says {gap / scale:.1e}",
        )

    def _check_risk(self, K, a, value, gap, size):
        model, positive = self.model, self.y == 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            prior, lam = float(model.prior), float(model.lam)
        try:
            best = smallest_risk(K, positive, prior, lam)
        except AssertionError:  # values of 1e14 beside values of 1: the reference gives up
            require(self.kernel in ("linear", "poly"), "the reference has no solution")
            return
        value_here = min(
            regularised_risk(K, positive, a, bias, prior, lam)
            for bias in self._biases(K @ a, model)
        )
        scale = max(abs(best), abs(value_here), 1e-3)
        rounding = _VALUES * lam * size * np.abs(a).sum() / scale
        require(
            abs(value_here - value) <= (_OBJECTIVE + rounding) * scale + gap,
            f"objective_ is off by {abs(value_here - value) / scale:.1e}",
        )
        require(
            value_here - best <= gap + (_OBJECTIVE + rounding) * scale,
            f"the optimum is {(value_here - best) / scale:.1e} away, duality_gap_ says "
            f"{gap / scale:.1e}",
        )

    @staticmethod
    def _biases(margin, model):
        """Kinks of the risk in the bias, at one of which it is least."""
        return np.concatenate([[-1.0 - m, 1.0 - m, -m] for m in margin])

    def _check_minimum(self, K, coef, k, value, rest, size):
        """Conditions of a local minimum of an S3VM, for one of its functions."""
        model, C, C_star = self.model, self.model.C, self.model.C_star
        if "classes" in self.name:
            sign = np.where(self.y == -1, 0, np.where(self.y == model.classes_[k], 1, -1))
            C_star *= 2.0 / len(model.classes_)
        else:
            sign = np.where(self.y == -1, 0, 2 * self.y - 1)
        b = float(np.atleast_1d(model.intercept_)[k])
        f = K @ coef + b
        if self.kernel == "linear":  # whose sums cancel around another origin
            f = np.asarray(model.decision_function(self._stored(self.X)))
            f = f if f.ndim == 1 else f[:, k]
        labelled, price = sign != 0, np.where(sign != 0, C, C_star)
        slack = np.maximum(0.0, np.where(labelled, 1.0 - sign * f, 1.0 - np.abs(f)))
        own = 0.5 * coef @ K @ coef + price @ slack
        scale = max(1.0, own, _VALUES * size)
        away = abs(own - value) / scale
        require(away <= 1e-7, f"objective_ is off by {away:.1e}")
        tol = max(1e-6, 2.0 * rest) + _VALUES * size
        parts = [0.0]
        free = coef[~labelled]
        if model.balance is not False and len(free):
            target = sign[labelled].mean() if self.held is None else self.held[k]
            off = tol if self.held is None else tol + _MEANS * max(1.0, abs(target))
            require(abs(f[~labelled].mean() - target) <= off, "the balance is missed")
            parts = np.unique(np.concatenate([free + shift for shift in (0.0, C_star, -C_star)]))
        side = np.where(labelled, sign, np.where(f >= 0, 1.0, -1.0))
        edge = 1e-7 * max(C, C_star)

        def at_rest(side, rest):
            at, above = side * rest, side * f - 1.0
            right = (at >= -edge) & (at <= price + edge)
            right &= (at >= edge) | (above >= -tol)
            right &= (at <= price - edge) | (above <= tol)
            return right & ((at <= edge) | (at >= price - edge) | (np.abs(above) <= tol))

        def optimal(part):
            rest = coef - part * ~labelled
            either = ~labelled & (np.abs(f) < tol)
            return np.all(at_rest(side, rest) | (either & at_rest(-side, rest)))

        require(any(optimal(part) for part in parts), f"no minimum; kkt_violation_ {rest:.1e}")

    # -- the kernel, from its definition --------------------------------------------------------

    def _kernel_matrix(self, X=None):
        model, X = self.model, self.X if X is None else X
        if self.kernel == "linear":
            return _inner(X)
        if self.kernel == "poly":
            return (model.gamma_ * _inner(X) + 1.0) ** 2
        kernel = model._deformed
        if self.kernel == "isolation":
            cells = kernel.find_nearest(self._stored(X))
            return (cells[:, None] == cells[None]).mean(axis=2)
        if self.kernel == "trees":
            leaves = kernel.forest.leaves(self._stored(X))
            common = (leaves[:, None] == leaves[None]).mean(axis=2)
            return (1.0 - kernel.share) * _rbf(X, X, kernel.base.gamma) + kernel.share * common
        if self.kernel == "rbf" or kernel is None:
            return _rbf(X, X, model.gamma_)
        if not hasattr(kernel, "points"):  # nothing is deformed
            return _rbf(X, X, kernel.gamma)
        points = kernel.points.toarray() if sp.issparse(kernel.points) else kernel.points
        g = _rbf(X, points, kernel.base.gamma) @ kernel.factor
        if kernel.is_low_rank:
            return kernel.scale * (g @ g.T)
        return kernel.scale * (_rbf(X, X, kernel.base.gamma) - g @ g.T)


def _rbf(X, Z, gamma):
    X, Z = np.asarray(X, np.longdouble), np.asarray(Z, np.longdouble)
    with np.errstate(under="ignore"):
        return np.exp(-gamma * np.square(X[:, None] - Z[None]).sum(axis=2)).astype(float)


def _inner(X):
    X = np.asarray(X, np.longdouble)
    return (X @ X.T).astype(float)


def make(seed):
    """A case of this area."""
    case = FarRows(seed)
    return case.describe(), case
