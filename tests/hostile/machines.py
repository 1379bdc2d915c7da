"""Cases over classes: one call of ``fit`` on hostile input, and what must hold of the machine."""

import copy
import pickle
import warnings
from decimal import Decimal
from functools import partial
from itertools import combinations

import joblib
import numpy as np
import pandas as pd
import scipy.sparse as sp
from reference.certificates import kkt_residual, objective
from reference.kernels import kernel_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, PUEnsemble

from .labels import LABELS
from .rows import ANY, LAYOUTS, REFUSED, SAME, VALUES, WEIGHTS, plain_rows
from .verdict import UsersError, Wrong, refusal, require

MACHINES = {
    "SVDD": (SVDD, {}),
    "SVDD linear": (SVDD, {"slack": "linear", "nu": 0.3}),
    "SVDD fpr": (SVDD, {"target_fpr": 0.1}),
    "OneClassSVM": (OneClassSVM, {"nu": 0.3}),
    "OneClassSVM fpr": (OneClassSVM, {"target_fpr": 0.1}),
    "PUSVM": (PUSVM, {"prior": 0.4}),
    "PUSVM estimate": (PUSVM, {}),
    "PUSVM ramp": (PUSVM, {"prior": 0.4, "loss": "ramp"}),
    "PUSVM probability": (PUSVM, {"prior": 0.4, "probability": "isotonic"}),
    "PUEnsemble": (PUEnsemble, {"prior": 0.4, "n_bags": 3}),
    "S3VM": (S3VM, {}),
    "S3VM free": (S3VM, {"balance": False}),
    "S3VM path": (S3VM, {"solver": "path"}),
    "S3VM probability": (S3VM, {"probability": "sigmoid"}),
}
ONE_CLASS = (SVDD, OneClassSVM)

_JUNK = [
    0, -1, np.nan, np.inf, -np.inf, 1e300, "x", None, [], {}, True, 1 + 2j, 10**400, b"rbf",
    np.float32(0.5), np.array(1.0), np.array([1.0, 2.0]), b"", Decimal("0.5"), len,
]  # fmt: skip
_PRICES = [1e-300, 1e-100, 1e-12, 1e-6, 1e6, 1e12, 1e100, 1e300, 1.7e308]
EXTREMES = {
    "C": _PRICES,
    "C_star": _PRICES,
    "lam": _PRICES,
    "nu": [1e-300, 1e-9, 0.999, 1.0 - 1e-16, 1.0, 1],
    "gamma": [0.0, 1e-300, 1e-100, 1e-12, 1e-6, 1e6, 1e12, 1e100, 1e300, "auto"],
    "degree": [0, 1, 30, 1000, 10**9],
    "coef0": [0.0, -1.0, 1e10, 1e300, -1e300],
    "kernel": ["linear", "poly", "sigmoid", "precomputed"],
    "tol": [1e-300, 1e-16, 1e-9, 1e3, 1e300],
    "max_iter": [0, 1, 2],
    "max_time": [1e-300, 1e-6, 0.01, 1e300],
    "cache_size": [1e-300, 1e-6, 1e300],
    "max_steps": [1, 3],
    "n_jobs": [0, 1, -1, 5000, -(10**9)],
    "random_state": [0, 2**32 - 1, np.random.RandomState(3), -1, 2**40],
    "prior": [1e-300, 1e-9, 0.01, 0.99, 1 - 1e-9, 0, 1],
    "balance": [True, False, 0.99, 5.0, -1e300],
    "target_fpr": [1e-300, 1e-3, 0.5, 0.999],
    "calibration": ["split", "leave-one-out"],
    "probability": ["isotonic", "sigmoid"],
    "n_neighbors": [1, 10**9],
    "n_bags": [1, 2],
    "solver": [
        "qp", "usmo", "lagrangian", "projected", "interior-point", "cccp", "path",
        "branch-and-bound",
    ],
    "unlabeled": [None, np.nan, 7, "x", 0],
    "pos_label": [0, 1, 7, "x", np.nan],
    "threshold": ["prior", "risk"],
    "annealing": [False],
    "verbose": [False, 0],
    "max_nodes": [1, 2],
}  # fmt: skip


class Case:
    """What is fitted, and to what."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng([13, 1, seed])
        self.name = str(rng.choice(list(MACHINES)))
        self.kind, fixed = MACHINES[self.name]
        self.params = {"n_jobs": 1, **fixed}
        n, d = int(rng.choice([6, 12, 30, 60, 150])), int(rng.choice([1, 2, 4, 9]))
        if self.kind is PUEnsemble:
            n = max(n, 30)
        self.plain, side = plain_rows(rng, n, d)
        self.X, self.y, self.weight = self.plain, None, None
        self.sign = None if self.kind in ONE_CLASS else self._signs(side)
        if self.sign is not None:
            self.y = self._usual(self.sign)
        self.new = plain_rows(rng, 20, d)[0]
        self.expected, self.words, self.checks = SAME, [], []
        themes = list(THEMES)
        shares = np.array([THEMES[t][1] for t in themes])
        count = 2 if rng.random() < 0.25 else 1
        for theme in rng.choice(themes, count, replace=False, p=shares / shares.sum()):
            THEMES[theme][0](self)

    def _signs(self, side):
        n = len(side)
        side = side.copy()
        side[:2] = 0, 1
        known = self.rng.random(n) < 0.5
        known[: 2 if self.kind is S3VM else min(n - 2, 4)] = True
        if self.kind is not S3VM:
            side[: min(n - 2, 4)] = 1
            known[-2:] = False
            return np.where(known & (side == 1), 1, 0)
        known[-1] = False
        return np.where(known, 2 * side - 1, 0)

    def _usual(self, sign):
        return np.where(sign == 0, -1, (sign > 0).astype(int)) if self.kind is S3VM else sign

    def expect(self, what):
        """What is expected of two themes together is the less certain of both."""
        order = [SAME, ANY, REFUSED]
        both = {self.expected, what}
        self.expected = ANY if both == {ANY, REFUSED} else max(both, key=order.index)

    def describe(self):
        shown = {k: v for k, v in self.params.items() if k != "n_jobs"}
        text = repr(shown) if len(repr(shown)) < 200 else repr(shown)[:200] + "..."
        return f"{self.name} {self.plain.shape} {text}; {'; '.join(self.words)}"

    # -- running -----------------------------------------------------------------------------

    def machine(self, **changes):
        return self.kind(**{**self.params, **changes})

    def fit(self, machine, X, y=None, weight=None):
        return machine.fit(X, y, sample_weight=weight)

    def __call__(self):
        before = _hash((self.X, self.y, self.weight))
        machine = self.machine()
        given = _hash(_lasting(machine))
        try:
            self.fit(machine, self.X, self.y, self.weight)
        except Exception as error:
            require(before == _hash((self.X, self.y, self.weight)), "input changed, then refused")
            what = refusal(error)
            if what.kind == "refused" and "contains" in what.text and _is_finite(self.X):
                for word in ("NaN", "infinity"):
                    if f"contains {word}" in what.text and _is_finite(self.weight):
                        raise Wrong(f"finite input, but: {what.text[:150]}") from error
            if self.expected == SAME and what.kind == "refused":
                raise Wrong(f"refused what is right: {what.text[:200]}") from error
            _require_unfitted(machine, self.plain)
            raise
        require(before == _hash((self.X, self.y, self.weight)), "the caller's input was changed")
        require(given == _hash(_lasting(machine)), "parameters were changed")
        require(self.expected != REFUSED, f"accepted without a word: {'; '.join(self.words)}")
        self._check_certificate(machine)
        check_fitted(machine, self.X)
        for check in self.checks:
            check(machine)
        if self.expected == SAME and self.words:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                twin = self.fit(self.machine(), self.plain, self._plain_labels())
            f, g = (m.decision_function(self.plain_for(m)) for m in (machine, twin))
            if self.params.get("loss") == "ramp":  # rounding may lead to another local minimum
                apart = abs(machine.objective_ - twin.objective_)
                require(apart <= 1e-2 * abs(twin.objective_), "another minimum, not as good")
                return
            tolerance = 1e-2 if self.kind is PUEnsemble else 1e-5
            require_close(f, g, tolerance, "another answer than for the plain rows")

    def _plain_labels(self):
        return None if self.sign is None else self._usual(self.sign)

    def plain_for(self, machine):
        """The plain rows, with the names that a machine was fitted to."""
        names = getattr(machine, "feature_names_in_", None)
        if names is None:
            return self.plain
        return pd.DataFrame(self.plain, columns=names)

    def _check_certificate(self, machine):
        if self.kind not in ONE_CLASS or not isinstance(self.X, np.ndarray):
            return
        if self.X.dtype != float or len(self.X) > 200 or machine.calibration == "split":
            return
        if getattr(machine, "solver", "auto") != "auto" or machine.fit_status_ != 0:
            return
        weight = np.ones(len(self.X)) if self.weight is None else np.asarray(self.weight, float)
        if weight.shape == (len(self.X),) and np.all(weight > 0) and np.ptp(np.log(weight)) < 60:
            check_certificate(machine, self.X, weight)


def _lasting(machine):
    """Parameters, without the generator that goes on."""
    return [v for name, v in machine.get_params().items() if name != "random_state"]


def _hash(values):
    """A digest of what values say, not of what they remember about themselves."""
    try:
        return joblib.hash([_plain(v) for v in values])
    except Exception:
        return None


def _plain(value):
    if sp.issparse(value):
        value = value if hasattr(value, "indptr") else value.tocoo()
        names = ("data", "indices", "indptr", "coords", "offsets")
        return [np.array(getattr(value, n)) for n in names if hasattr(value, n)]
    if isinstance(value, pd.DataFrame | pd.Series):
        return str(value.index.tolist()), str(value.to_numpy(object).tolist()), str(value.dtypes)
    if isinstance(value, pd.api.extensions.ExtensionArray):
        return str(value.tolist())
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tolist()
    return value


def _is_finite(X):
    X = X.data if sp.issparse(X) else X
    try:
        return bool(np.isfinite(np.asarray(X, float)).all())
    except (TypeError, ValueError, OverflowError):
        return X is None


def _require_unfitted(machine, X):
    """A first fit that was refused leaves no machine that answers."""
    try:
        machine.predict(X)
    except NotFittedError:
        return
    except Exception as error:
        raise Wrong(f"half fitted after a refusal: {refusal(error).text[:200]}") from error
    raise Wrong("predicts after a fit that was refused")


def require_close(f, g, tolerance, what):
    """Two vectors of scores are equal, in units of their spread."""
    if not np.isfinite(g).all():
        return require(np.array_equal(f, g), what)
    size = max(np.ptp(g) if len(g) else 0.0, 1e-3 * np.abs(g).max(initial=0.0), 1e-300)
    with np.errstate(invalid="ignore"):
        apart = np.abs(f - g)
    apart = np.where(f == g, 0.0, apart).max(initial=0.0)
    return require(
        apart <= tolerance * size, f"{what}: off by {apart / size:.1e} of the scores' range"
    )


# -- what must hold of a fitted machine -------------------------------------------------------


def check_fitted(machine, X):
    """Scores are finite and agree with each other, attributes can be read, copies are equal."""
    f = machine.decision_function(X)
    n = len(f)
    require(isinstance(f, np.ndarray), f"scores of type {type(f)}")
    several = not isinstance(machine, ONE_CLASS) and len(machine.classes_) > 2
    shape = (n, len(machine.classes_)) if several else (n,)
    require(f.shape == shape, f"scores of shape {f.shape}")
    rejects_nothing = np.all(np.isneginf(getattr(machine, "offset_", 0.0)))
    require(
        np.isfinite(f).all() or rejects_nothing, f"scores are not finite: {f[~np.isfinite(f)][:3]}"
    )
    answer = machine.predict(X)
    if isinstance(machine, ONE_CLASS):
        require(np.array_equal(answer, np.where(f >= 0, 1, -1)), "predict is not the sign")
        s = machine.score_samples(X)
        require(np.isfinite(s).all(), "score_samples are not finite")
        order = np.argsort(s, kind="stable")
        require(
            rejects_nothing or np.all(np.diff(f[order]) >= 0), "two orders of one set of scores"
        )
    else:
        chosen = f.argmax(axis=1) if several else (f > 0).astype(int)
        expected = machine.classes_[chosen]
        same = (answer == expected) | ((answer != answer) & (expected != expected))
        require(np.all(same), "predict is not the sign, or the column of the largest score")
        require(
            len(machine.transduction_) == machine.shape_fit_[0], "transduction_ of another length"
        )
        if getattr(machine, "probability", None) is not None:
            _check_probabilities(machine, X, f)
    require(np.array_equal(f, machine.decision_function(X)), "scores change from call to call")
    is_sure = machine.fit_status_ == 0 and machine.tol <= 1e-3
    uncertain = _uncertainty(machine)
    check_attributes(machine)
    # Leaving out rows begins their path, which ends nearer to the optimum.
    g = machine.decision_function(X)
    if is_sure and not np.allclose(g, f, rtol=0.0, atol=uncertain):
        require_close(g, f, 0.1, "reading an attribute changes the scores")
    h = copy.deepcopy(machine).decision_function(X)
    require(np.array_equal(g, h), "a copied machine scores otherwise")
    if not callable(machine.kernel):
        h = pickle.loads(pickle.dumps(machine)).decision_function(X)
        require(np.array_equal(g, h), "a pickled machine scores otherwise")
    clone(machine)


def _uncertainty(machine):
    """How far scores of an SVDD may be from those of the optimum, as it says itself.

    A paper's solver ends at a gap: half of the squared distance of two centres is at most the
    difference of their objectives. A score is a distance to the centre, squared, less one of a row
    on the border. Of the others rounding is left, in sums as large as the objective.
    """
    if not isinstance(machine, SVDD) or machine.kernel != "rbf":
        return 0.0
    gap = machine.duality_gap_ if machine.solver in ("lagrangian", "projected") else 0.0
    return 4.0 * np.sqrt(2.0 * max(gap, 0.0)) + 1e-15 * abs(machine.objective_)


def _check_probabilities(machine, X, f):
    """Probabilities sum to 1 and follow the scores, of several classes their differences.

    Not where another class was ahead, so that the predicted one was given a thousandth more.
    """
    p, n_classes = machine.predict_proba(X), len(machine.classes_)
    require(p.shape == (len(f), n_classes), f"probabilities of shape {p.shape}")
    require(np.all((p >= 0) & (p <= 1)), "probabilities outside of 0 to 1")
    require(np.allclose(p.sum(axis=1), 1.0), "probabilities do not sum to 1")
    if f.ndim == 1:
        pairs = [(f, p[:, 1])]
    elif machine.probability == "sigmoid":
        pairs, best = [], np.sort(p, axis=1)
        is_fitted = best[:, -1] - best[:, -2] > 1.000001e-3
        for j, k in combinations(range(n_classes), 2):
            both = p[:, j] + p[:, k]
            seen = is_fitted & (both > 1e-280)
            pairs.append(((f[:, k] - f[:, j])[seen], p[seen, k] / both[seen]))
    else:
        return
    for score, share in pairs:
        rising = np.diff(share[np.argsort(score, kind="stable")])
        require(np.all(rising >= -1e-12), "probabilities do not follow the scores")


def check_attributes(machine):
    """Every public attribute can be read, or says in a sentence why not; numbers are numbers."""
    for name in dir(type(machine)) + list(vars(machine)):
        if name.startswith("_") or not name.endswith("_"):
            continue
        if isinstance(machine, PUEnsemble) and name in ("objective_", "duality_gap_"):
            continue  # of one problem among many
        if name == "objective_" and not getattr(machine, "is_caught_up_", True):
            continue  # on the way from one problem to another, as its warning said
        try:
            value = getattr(machine, name)
        except AttributeError as error:
            require(refusal(error).kind == "refused", f"{name}: {error}")
            continue
        except Exception as error:
            raise Wrong(f"{name}: {refusal(error).text[:200]}") from error
        value = value.data if sp.issparse(value) else value
        if isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f"):
            missing = name in (
                "classes_", "transduction_", "duality_gap_", "curve_", "left_out_decisions_",
            )  # fmt: skip
            infinite = name in ("offset_", "intercept_", "duality_gap_")
            if name == "auc_":  # members that a mixture doesn't have
                missing = machine.weights_ == 0
            fine = np.isfinite(value) | (np.isnan(value) & missing) | (np.isinf(value) & infinite)
            require(np.all(fine), f"{name} is {np.ravel(value)[~np.ravel(fine)][:1]}")


def _reference_kernel(machine):
    name, gamma = machine.kernel, machine.gamma_
    return {
        "rbf": ("rbf", gamma),
        "linear": ("linear",),
        "poly": ("poly", gamma, machine.degree, machine.coef0),
    }.get(name if isinstance(name, str) else "")


def check_certificate(machine, X, weight):
    """Conditions of the optimum, from the definition, for machines of one class."""
    kernel = _reference_kernel(machine)
    if kernel is None or (kernel[0] == "poly" and kernel[2] > 5):
        return
    with np.errstate(over="ignore", invalid="ignore"):
        K = kernel_matrix(kernel, X)
    if not np.isfinite(K).all() or np.abs(K).max(initial=0.0) > 1e90:
        return
    n, diagonal = len(X), np.diag(K)
    coef = machine.dual_coef_
    coef = coef.toarray() if sp.issparse(coef) else coef
    a = np.zeros(n)
    a[machine.support_] = coef[0]
    zero = np.zeros(n)
    if isinstance(machine, OneClassSVM):
        penalty, Q, total = (zero, zero, weight, zero, zero), K, machine.nu * weight.sum()
    elif machine.slack == "squared":
        ridge = 1.0 / (2.0 * machine.C * weight)
        penalty = (zero, zero, np.full(n, np.inf), -diagonal, -diagonal)
        Q, total = 2.0 * K + np.diag(ridge), 1.0
    else:
        C = machine.C if machine.nu is None else 1.0 / (machine.nu * weight.sum())
        penalty, Q, total = (zero, zero, C * weight, -diagonal, -diagonal), 2.0 * K, 1.0
    require(
        np.all(a >= 0) and np.all(a <= penalty[2] * (1 + 1e-9)), "dual variables out of bounds"
    )
    require(abs(a.sum() - total) <= 1e-8 * total, "dual variables with another sum")
    # Where the origin lies among the rows, Q a is 0 but for rounding.
    rounding = 1e-13 * total * np.abs(diagonal).max()
    size = max(np.abs(Q @ a).max(), np.abs(diagonal).max() if Q is not K else rounding, 1e-300)
    gap, value = machine.duality_gap_, objective(Q, penalty, a)
    scale = max(abs(value), abs(0.5 * a @ Q @ a), total * size)
    found = -machine.objective_ if Q is not K else machine.objective_
    away = min(abs(found - value), abs(-found - value))
    require(
        away <= 1e-6 * scale + 2 * abs(np.nan_to_num(gap)),
        f"objective_ is not the objective: {away / scale:.1e}",
    )
    end = penalty[2]
    near = 1e-9 * np.minimum(end, total)
    snapped = np.where(a < near, 0.0, np.where(a > end - near, end, a))
    rest = kkt_residual(Q, penalty, snapped) / size
    if machine.tol <= 1e-3:
        require(rest <= 0.02, f"optimality conditions are missed by {rest:.1e} without a warning")


# -- themes -----------------------------------------------------------------------------------


def _pick(case, table):
    key = str(case.rng.choice(list(table)))
    return key, *table[key]


def _is_plain(X):
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == float and type(X) is np.ndarray


def _values(case):
    key, change, expect = _pick(case, VALUES)
    case.words.append(key)
    rows = case.X if _is_plain(case.X) and case.X.size else case.plain
    n = len(rows)
    case.X = change(case.rng, rows)
    case.expect(expect)
    case.weight = case.weight if len(case.X) == n else None
    if case.sign is not None and len(case.X) != n:
        m = len(case.X)
        sign = np.repeat(case.sign[: max(1, min(n, m))], -(-m // max(1, min(n, m))))[:m]
        case.y = case._usual(sign)
    if expect is ANY and "times 2^" in key:
        case.checks.append(partial(_same_but_scaled, case, key))
    if len(case.X) > 300:
        case.new = case.new[:, :1] if case.X.shape[1] == 1 else case.new


def _same_but_scaled(case, key, machine):
    """A kernel whose width follows the rows gives the same scores for rows times a power of 2."""
    follows = machine.kernel == "rbf" and machine.gamma in ("scale", "distance")
    if not follows or len(case.words) > 1 or machine.fit_status_:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        twin = case.fit(case.machine(), case.plain, case.y, case.weight)
    f, g = machine.decision_function(case.X), twin.decision_function(case.plain)
    require_close(f, g, 1e-3, "rows times a power of 2 score otherwise")


def _layout(case):
    key, change, expect = _pick(case, LAYOUTS)
    case.words.append(f"rows: {key}")
    # Layouts that keep all values keep NaN and infinities; the others need finite rows.
    usable = _is_plain(case.X) and (expect == SAME or np.isfinite(case.X).all())
    rows = case.X if usable else case.plain
    if not usable:
        case.expect(ANY)  # what was expected of the rows is no longer so of plain ones
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        case.X = change(rows)
    case.expect(expect if rows is case.plain or expect == SAME else ANY)


def _labels(case):
    if case.sign is None:
        key, change, _ = _pick(case, LABELS)
        case.y, expect = change(case.rng, (case.plain[:, 0] > 0).astype(int)), SAME
    else:
        key, change, expect = _pick(case, LABELS)
        case.y = change(case.rng, case.sign)
        if key == "many classes" and case.kind is S3VM:
            # A class per row is learnt, as scikit-learn's classifiers do; scikit-learn's check
            # of targets warns of it where there are more than a few rows.
            expect = ANY
        if key == "bools" and case.kind is not S3VM:
            expect = SAME
        if expect == REFUSED and key == "all unlabelled" and case.kind is not S3VM:
            expect = REFUSED
    if case.X is not case.plain:
        expect = ANY
    case.words.append(f"labels: {key}")
    case.expect(expect)


def _parameters(case):
    known = [p for p in case.kind().get_params() if p in EXTREMES]
    for name in case.rng.choice(known, int(case.rng.integers(1, 3)), replace=False):
        is_label = name in ("unlabeled", "pos_label")  # may be anything that can be compared
        values = EXTREMES[name] if is_label or case.rng.random() < 0.7 else _JUNK
        value = values[case.rng.integers(len(values))]
        case.params[str(name)] = value
        if str(name) == "kernel" and isinstance(value, str) and value == "precomputed":
            with np.errstate(all="ignore"):
                case.X = case.plain @ case.plain.T
    case.words.append("parameters")
    case.expect(ANY)


def _weights(case):
    key, change, expect = _pick(case, WEIGHTS)
    n = len(case.X) if _is_plain(case.X) else len(case.plain)
    case.weight = change(case.rng, max(n, 1))
    case.words.append(f"weights: {key}")
    # What weights mean for a drawn bag or the two parts of a split is another draw.
    case.expect(expect)


def _kernels(case):
    X, n = case.plain, len(case.plain)
    K = X @ X.T
    broken = K.copy()
    broken[0, -1] += 5.0

    def fails(A, B):
        raise UsersError("the kernel function of the user failed here")

    def product(A, B):
        values = A @ B.T
        return values.toarray() if sp.issparse(values) else values

    callables = {
        "wrong shape": (lambda A, B: np.ones((2, 2)), REFUSED),
        "one number": (lambda A, B: 1.0, REFUSED),
        "None": (lambda A, B: None, REFUSED),
        "NaN": (lambda A, B: np.full((A.shape[0], B.shape[0]), np.nan), REFUSED),
        "infinite": (lambda A, B: np.full((A.shape[0], B.shape[0]), np.inf), REFUSED),
        "complex": (lambda A, B: product(A, B) + 1j, REFUSED),
        "texts": (lambda A, B: product(A, B).astype(str), ANY),
        "lists": (lambda A, B: product(A, B).tolist(), ANY),
        "integers": (lambda A, B: np.round(product(A, B)).astype(int), ANY),
        "sparse": (lambda A, B: sp.csr_array(product(A, B)), ANY),
        "zero": (lambda A, B: np.zeros((A.shape[0], B.shape[0])), ANY),
        "constant": (lambda A, B: np.ones((A.shape[0], B.shape[0])), ANY),
        "negative": (lambda A, B: -product(A, B), ANY),
        "no inner product": (lambda A, B: np.sin(7 * product(A, B)), ANY),
        "not symmetric": (lambda A, B: product(A, B) + product(A, A[:1]), REFUSED),
        "raises": (fails, REFUSED),
    }
    matrices = {
        "negative": (-K, ANY),
        "no inner product": (np.sin(7 * K), ANY),
        "zero": (0 * K, ANY),
        "not symmetric": (broken, REFUSED),
        "not square": (K[:, : n - 1], REFUSED),
        "one number": (K[:1, :1], ANY),
        "NaN": (np.where(K == K.max(), np.nan, K), REFUSED),
        "huge": (K * 1e200, ANY),
        "tiny": (K * 1e-200, ANY),
        "sparse": (sp.csr_array(K), ANY),
        "integers": (np.round(K).astype(int), ANY),
        "negative diagonal": (K - 50.0 * np.eye(n), ANY),
    }
    if case.rng.random() < 0.5:
        key = str(case.rng.choice(list(callables)))
        case.params["kernel"], expect = callables[key]
        case.words.append(f"kernel function: {key}")
    else:
        key = str(case.rng.choice(list(matrices)))
        case.X, expect = matrices[key]
        case.params["kernel"] = "precomputed"
        case.words.append(f"kernel matrix: {key}")
        if key == "one number" and case.sign is not None:
            expect = REFUSED
        if case.kind is OneClassSVM and case.X.shape == (n, n):
            case.checks.append(partial(_gap_is_a_bound, case))
    case.expect(expect)


def _gap_is_a_bound(case, machine):
    """No feasible point that chance finds is lower than objective and gap allow."""
    gap = machine.duality_gap_
    K = case.X.toarray() if sp.issparse(case.X) else np.asarray(case.X, float)
    if not np.isfinite(gap) or case.weight is not None:
        return
    if machine.is_calibrated_ and len(machine.calibration_scores_) < len(K):
        return  # trained on the rows that calibration left
    n, total = len(K), machine.nu * len(K)
    K = 0.5 * (K + K.T)
    lowest = np.inf
    for _ in range(300):
        a, order = np.zeros(n), case.rng.permutation(n)
        a[order[: int(total)]] = 1.0
        if int(total) < n:
            a[order[int(total)]] = total - int(total)
        lowest = min(lowest, 0.5 * a @ K @ a)
    size = np.abs(K).max() * total**2
    require(
        lowest >= machine.objective_ - gap - 1e-7 * size,
        "a feasible point below what duality_gap_ allows",
    )


def _scoring(case):
    """A machine of plain rows meets hostile ones."""
    layouts = bool(case.rng.random() < 0.5)
    key, change, expect = _pick(case, LAYOUTS if layouts else VALUES)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        rows = change(case.new) if layouts else change(case.rng, case.new)
    if key == "many columns":
        expect = REFUSED
    if sp.issparse(rows) or key == "frame, sparse columns":
        expect = ANY if expect == SAME else expect  # scored as dense, or refused
    case.words.append(f"scores {key}")
    case.expect(ANY)
    case.checks.append(partial(_score, case, rows, expect, layouts))


def _score(case, rows, expect, layouts, machine):
    if not isinstance(case.X, np.ndarray) or machine.kernel == "precomputed":
        return
    if case.X.ndim == 2 and case.X.shape[1] != case.new.shape[1]:
        expect = ANY  # another theme changed the columns
    before = _hash(rows)
    for name in ("decision_function", "predict", "p_values", "predict_proba"):
        if not hasattr(machine, name):
            continue
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "X has feature names")
                answer = getattr(machine, name)(rows)
        except Exception as error:
            found = refusal(error)
            require(found.kind == "refused", f"{name}: {found.text}")
            alone = "no training row would be left" in found.text and case.weight is not None
            right = expect != SAME or alone
            require(right, f"{name} refuses what is right: {found.text[:200]}")
            continue
        finally:
            require(before == _hash(rows), f"{name} changes the caller's rows")
        require(expect != REFUSED, f"{name} accepts without a word")
        if answer.dtype.kind == "f" and not np.all(np.isneginf(getattr(machine, "offset_", 0.0))):
            bad = ~np.isfinite(answer)
            nan_class = name == "predict" and machine.__class__ is not SVDD
            require(not bad.any() or nan_class, f"{name} gives {answer[bad][:1]}")
        if expect == SAME and layouts:
            expected = getattr(machine, name)(case.new)
            if answer.dtype.kind in "OUS":
                require(np.array_equal(answer, expected), f"{name}: another answer")
            else:
                require_close(
                    np.asarray(answer, float), np.asarray(expected, float), 1e-6,
                    f"{name}: another answer",
                )  # fmt: skip


def _far(case):
    """Rows further and further away rank further and further down."""
    if case.kind not in ONE_CLASS:
        return _values(case)
    if case.rng.random() < 0.5:
        case.params["gamma"] = float(10.0 ** case.rng.uniform(-2, 2))
    case.words.append("far rows")
    case.expect(ANY)
    case.checks.append(partial(_ranks, case))
    return None


def _ranks(case, machine):
    if (
        machine.kernel != "rbf"
        or not isinstance(case.X, np.ndarray)
        or case.X.shape != case.plain.shape
    ):
        return
    direction = case.rng.normal(size=case.X.shape[1])
    reach = np.abs(case.X.astype(float)).max() + 1.0
    if not 1e-100 < reach < 1e100:
        return
    distance = reach * np.array([3.0, 6.0, 20.0, 100.0, 1e4, 1e8])
    far = distance[:, None] * direction / np.abs(direction).max()
    s = machine.score_samples(far)
    require(np.all(np.diff(s) <= 0), "a row further away scores higher")
    require(np.all(np.diff(s) < 0), "rows that are further and further away score alike")


def _equal_problems(case):
    """The same rows in another order, another form, or as weights."""
    case.params.update(tol=1e-6)
    case.words.append("equal problems")
    case.expect(ANY)
    case.checks.append(partial(_equal, case))


def _equal(case, machine):
    X, y, rng = case.X, case.y, case.rng
    random = case.kind in (PUEnsemble, S3VM) or machine.get_params().get("prior") == "estimate"
    plain = isinstance(X, np.ndarray) and X.shape == case.plain.shape and case.weight is None
    if random or not plain or len(case.words) > 1 or "fpr" in case.name or "ramp" in case.name:
        return
    order = rng.permutation(len(X))
    count = rng.integers(1, 4, len(X))

    def take(v, i):
        return None if v is None else np.asarray(v)[i]

    twins = {
        "in another order": (X[order], take(y, order), None),
        "as CSR": (sp.csr_array(X), y, None),
        "with weights of 1": (X, y, np.ones(len(X))),
    }
    f = machine.decision_function(X)
    for what, (rows, labels, weight) in twins.items():
        g = case.fit(case.machine(), rows, labels, weight).decision_function(X)
        require_close(f, g, 1e-3, f"another answer for rows {what}")
    often = case.fit(
        case.machine(), np.repeat(X, count, 0), take(y, np.repeat(np.arange(len(X)), count))
    )
    heavy = case.fit(case.machine(), X, y, count.astype(float))
    require_close(
        often.decision_function(X), heavy.decision_function(X), 1e-3, "weights are not repetitions"
    )


def _offsets(case):
    """Sparse rows, some of whose columns are far from zero."""
    rng, (n, d) = case.rng, case.plain.shape
    offset = np.where(rng.random(d) < 0.6, rng.choice([30.0, 1e3, -1e5, 1e7]), 0.0)
    dense = np.round((case.plain + offset) * 2.0**20) / 2.0**20
    if rng.random() < 0.3:
        dense[rng.choice(n, n // 6, replace=False), 0] = 0.0
    case.X = sp.csr_array(dense)
    case.params.update(tol=1e-6)
    case.words.append(f"sparse rows around {offset}")
    case.expect(ANY)
    case.checks.append(partial(_as_dense, case, dense))


def _as_dense(case, dense, machine):
    if case.kind is PUEnsemble or case.weight is not None or len(case.words) > 1:
        return
    twin = case.fit(case.machine(), dense, case.y)
    if machine.fit_status_ or twin.fit_status_:
        return
    if case.kind is S3VM:  # there are many minima, which rounding may choose between
        apart = abs(machine.objective_ - twin.objective_)
        return require(
            np.all(apart <= 0.2 * np.abs(twin.objective_)), "another minimum when dense"
        )
    check_attributes(twin)  # as was done with the machine, see `check_fitted`
    f, g = machine.decision_function(case.X), twin.decision_function(dense)
    # Scores are sums less an offset. Where all rows score alike, rounding of the sums is left.
    offset = np.nan_to_num(getattr(twin, "offset_", 0.0), posinf=0.0, neginf=0.0)
    if np.allclose(f, g, rtol=0.0, atol=1e-14 * max(1.0, np.abs(offset).max())):
        return
    require_close(f, g, 1e-3, "another answer for dense rows")


def _callback(case):
    if case.kind is PUEnsemble:
        return

    def raises(entry):
        raise UsersError("the callback of the user failed here")

    kinds = {
        "raises": raises,
        "stops": lambda entry: True,
        "no function": 3,
        "changes the entry": lambda entry: entry.clear(),
    }
    key = str(case.rng.choice(list(kinds)))
    case.words.append(f"callback: {key}")
    case.expect(ANY)
    case.fit = lambda machine, X, y=None, weight=None: machine.fit(
        X, y, sample_weight=weight, callback=kinds[key]
    )


THEMES = {
    "values": (_values, 25),
    "layout": (_layout, 20),
    "labels": (_labels, 12),
    "parameters": (_parameters, 25),
    "weights": (_weights, 12),
    "kernels": (_kernels, 10),
    "scoring": (_scoring, 15),
    "far": (_far, 5),
    "equal problems": (_equal_problems, 6),
    "callback": (_callback, 3),
    "offsets": (_offsets, 10),
}


def make(seed):
    """A case of this area."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        case = Case(seed)
    return case.describe(), case
