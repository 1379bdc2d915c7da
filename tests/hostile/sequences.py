"""Cases over streams: rows that come and go in every way, with hostile calls between them."""

import copy
import pickle
import signal
import threading
import traceback
import warnings

import numpy as np
import scipy.sparse as sp
from reference.kernels import kernel_matrix
from sklearn.base import clone

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM

from .machines import check_fitted, require_close
from .rows import plain_rows
from .verdict import Wrong, refusal, require

MACHINES = {
    "SVDD": (SVDD, {"C": 0.3}),
    "SVDD linear": (SVDD, {"slack": "linear", "nu": 0.3}),
    "SVDD fpr": (SVDD, {"target_fpr": 0.1}),
    "SVDD split": (SVDD, {"target_fpr": 0.2, "calibration": "split"}),
    "OneClassSVM split": (OneClassSVM, {"nu": 0.3, "target_fpr": 0.2, "calibration": "split"}),
    "OneClassSVM": (OneClassSVM, {"nu": 0.3}),
    "PUSVM": (PUSVM, {"prior": 0.4}),
    "S3VM": (S3VM, {}),
    "S3VM path": (S3VM, {"solver": "path"}),
    "S3VM free": (S3VM, {"balance": False}),
    "S3VM linear": (S3VM, {"kernel": "linear"}),
}


class Sequence:
    """A machine, the rows it should hold, and operations on both."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng([13, 2, seed])
        self.name = str(rng.choice(list(MACHINES)))
        kind, params = MACHINES[self.name]
        self.two = kind in (PUSVM, S3VM)
        self.kind, self.d = kind, int(rng.choice([1, 2, 4]))
        self.machine = kind(**{"n_jobs": 1, "tol": 1e-5, **params})
        self.X, self.y = self._rows(int(rng.integers(12, 40)), first=True)
        self.new = plain_rows(rng, 25, self.d)[0]
        self.passed = self.X.copy()
        self.first = "fit" if rng.random() < 0.7 else "partial_fit"
        usable = [name for name, for_two in OPERATIONS.items() if not for_two or kind is S3VM]
        self.program = [str(rng.choice(usable)) for _ in range(int(rng.integers(3, 9)))]
        self.seeds = rng.integers(0, 2**31, len(self.program))

    def describe(self):
        return f"{self.name} {self.X.shape}, {self.first}; {'; '.join(self.program)}"

    def _rows(self, n, first=False):
        X, side = plain_rows(self.rng, n, self.d)
        if not self.two:
            return X, None
        known = self.rng.random(n) < 0.4
        if self.kind is S3VM:
            y = np.where(known, side, -1)
            y[:4] = [0, 1, 0, 1] if first else y[:4]
        else:
            y = (known & (side == 1)).astype(int)
            if first:
                y[:4], y[4:8] = 1, 0
        return X, y

    def __call__(self):
        self._run()
        self._check_end()

    def _run(self):
        call = getattr(self.machine, self.first)
        call(self.passed, self.y)
        self.share = (len(self.X) // 2) / len(self.X)
        for name, seed in zip(self.program, self.seeds, strict=True):
            self.rng = np.random.default_rng(seed)
            before = self.machine.decision_function(self.new)
            try:
                with warnings.catch_warnings():
                    warnings.filterwarnings("ignore", ".*max_steps", UserWarning)
                    done = getattr(self, "_" + name.replace(" ", "_"))()
            except Wrong:
                raise
            except Exception as error:
                found = refusal(error)
                require(found.kind == "refused", f"{name}: {found.text}")
                done = None
            after = self.machine.decision_function(self.new)
            rejects_nothing = np.all(np.isneginf(getattr(self.machine, "offset_", 0.0)))
            require(np.isfinite(after).all() or rejects_nothing, f"{name}: scores are not finite")
            if done is None:
                # A path that begins ends nearer to the optimum than the fit did.
                require_close(after, before, 1e-2, f"{name}: nothing done, but scores changed")
            require(
                self.machine.shape_fit_[0] == len(self.X),
                f"{name}: {self.machine.shape_fit_[0]} rows where {len(self.X)} should be",
            )

    # -- operations that are right ------------------------------------------------------------

    def _add(self):
        X, y = self._rows(int(self.rng.choice([1, 1, 3, 10])))
        self.passed = X.copy()
        self.machine.partial_fit(self.passed, y)
        self._added(X, y)
        return True

    def _added(self, X, y):
        self.X = np.vstack([self.X, X])
        self.y = None if y is None else np.append(self.y, y)

    def _forget(self):
        n = len(self.X)
        gone = self.rng.choice(n, min(n - 8, int(self.rng.integers(1, 6))), replace=False)
        if self.y is not None:
            gone = gone[gone >= 8]  # of every kind some stay
        self.machine.forget(gone)
        self._gone(gone)
        return True

    def _gone(self, gone):
        self.X = np.delete(self.X, gone, axis=0)
        self.y = None if self.y is None else np.delete(self.y, gone)

    def _relabel(self):
        row, label = int(self.rng.integers(4, len(self.X))), int(self.rng.integers(-1, 2))
        self.machine.relabel([row], [label])
        self.y[row] = label
        return True

    def _add_slowly(self):
        X, y = self._rows(4)
        self.machine.set_params(max_steps=1)
        try:
            self.machine.partial_fit(X, y)
        finally:
            self.machine.set_params(max_steps=None)
        self._added(X, y)
        for _ in range(3):
            self.machine.resume(max_steps=2)
        self.machine.resume()
        return True

    def _same_rows_again(self):
        X, y = (
            np.repeat(self.X[-1:], 30, 0),
            None if self.y is None else np.repeat(self.y[-1:], 30),
        )
        self.machine.partial_fit(X, y)
        self._added(X, y)
        return True

    def _sparse_or_frame(self):
        X, y = self._rows(2)
        form = [sp.csr_array, np.asfortranarray, np.float32, list][self.rng.integers(4)]
        self.machine.partial_fit(form(X), y)
        self._added(X, y)
        return True

    def _pickle(self):
        self.machine = pickle.loads(pickle.dumps(self.machine))
        return True

    def _copy(self):
        """Two copies go different ways."""
        other = copy.deepcopy(self.machine)
        other.partial_fit(*self._rows(3))
        return None

    def _shallow_copy(self):
        clone(self.machine)
        return None

    def _caller_changes_rows(self):
        self.passed[:] = 0.0
        return None

    def _consolidate(self):
        self.machine.consolidate()
        return True

    def _reprice(self):
        C, C_star = (float(10.0 ** self.rng.uniform(-1, 2)) for _ in range(2))
        self.machine.reprice(C, C_star)
        return True

    def _interrupted(self):
        """Ctrl-C somewhere in an operation, which then is done or not."""
        X, y = self._rows(5)

        def stop(*_):
            raise KeyboardInterrupt

        before, heeded = signal.signal(signal.SIGALRM, stop), np.geterr()
        try:
            signal.setitimer(signal.ITIMER_REAL, float(self.rng.uniform(1e-4, 2e-2)))
            self.machine.partial_fit(X, y)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt as error:
            interrupted = traceback.extract_tb(error.__traceback__)[-2]
            if interrupted.name in ("__enter__", "__exit__") and "numpy" in interrupted.filename:
                np.seterr(**heeded)  # errstate itself was interrupted
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        self.machine.resume()
        if self.machine.shape_fit_[0] != len(self.X):
            self._added(X, y)
        return True

    def _threads_that_score(self):
        expected, answers = self.machine.decision_function(self.new), []

        def score():
            try:
                answers.append(self.machine.decision_function(self.new))
            except Exception as error:
                answers.append(error)

        _together([score] * 4)
        for answer in answers:
            if isinstance(answer, Exception):
                raise Wrong(f"scoring in threads: {refusal(answer).text}") from answer
            require(np.array_equal(answer, expected), "threads: other scores")
        return None

    def _threads_that_add(self):
        blocks, errors, added = [self._rows(3) for _ in range(2)], [], []

        def add(block):
            try:
                self.machine.partial_fit(*block)
                added.append(block)
            except Exception as error:
                errors.append(error)

        _together([lambda b=b: add(b) for b in blocks])
        for error in errors:
            found = refusal(error)
            require(found.kind == "refused", f"adding in threads: {found.text}")
        if len(added) == 2:  # in whichever order
            tail = self.machine.training_rows_.X[len(self.X) :]
            tail = tail.toarray() if sp.issparse(tail) else tail
            added.sort(key=lambda block: not np.allclose(block[0], tail[:3]))
        for block in added:
            self._added(*block)
        return True

    def _slide(self):
        """A window slides: what is oldest goes as rows come, one by one or in blocks."""
        size = int(self.rng.choice([1, 1, 1, 4]))
        for _ in range(int(self.rng.integers(5, 40)) // size):
            X, y = self._rows(size)
            self.machine.partial_fit(X, y)
            self._added(X, y)
            first = 8 if self.two else 0  # of every kind some stay
            gone = np.arange(first, first + size)
            self.machine.forget(gone)
            self._gone(gone)
            self._check_split()
        return True

    def _check_split(self):
        """The rows that calibrate stay as large a share as they were."""
        if "split" in self.name:
            held = self.machine.training_rows_.weight == 0
            off = abs(held.sum() - self.share * len(held))
            require(off <= 1.0 + 1e-6, f"the split is {off:.1f} rows away from its share")

    def _copies_during_updates(self):
        """Copies that are made while another thread updates are whole, each by itself."""
        blocks, made, errors = [self._rows(2) for _ in range(4)], [], []
        makers = [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy, copy.copy, _saved]
        make = makers[self.rng.integers(len(makers))]

        def add():
            for X, y in blocks:
                try:
                    self.machine.partial_fit(X, y)
                    self._added(X, y)
                except Exception as error:
                    errors.append(error)

        def take():
            for _ in range(4):
                try:
                    made.append(make(self.machine))
                except Exception as error:
                    errors.append(error)

        _together([add, take])
        for error in errors:
            raise Wrong(f"copies during updates: {refusal(error).text}") from error
        for one in made:
            rows = one.training_rows_
            n = one.shape_fit_[0]
            require(len(rows.X) == len(rows.weight) == n, f"a copy has {len(rows.X)} of {n} rows")
            require(np.allclose(_plain(rows.X), self.X[:n]), "a copy holds other rows")
            found = one.decision_function(self.new)
            require(len(found) == len(self.new), "a copy scores other rows")
            one.partial_fit(*self._rows(1)).forget([n])
            if self.kind is not S3VM and "split" not in self.name:
                after = one.decision_function(self.new)
                require_close(after, found, 2e-2, "a copy goes another way")
        return True

    # -- operations that are not --------------------------------------------------------------

    def _add_nonsense(self):
        X, y = self._rows(3)
        bad = [
            lambda: (np.where(np.eye(3, self.d), np.nan, X), y),
            lambda: (np.where(np.eye(3, self.d), np.inf, X), y),
            lambda: (np.hstack([X, X]), y),
            lambda: (X[:0], None),
            lambda: (X[0], y),
            lambda: ("rows", y),
            lambda: (None, y),
            lambda: (X, [1] * 5),
            lambda: (X, [7, 8, 9]),
            lambda: (X, ["a", "b", "c"]),
        ]
        which = self.rng.integers(len(bad) if self.two else len(bad) - 3)
        with np.errstate(all="ignore"):
            given = bad[which]()
        self.machine.partial_fit(*given)
        raise Wrong(f"partial_fit takes nonsense ({which}) without a word")

    def _add_huge(self):
        X, y = self._rows(2)
        X = X * [1e200, 1e160, 1e-300, 1e30][self.rng.integers(4)]
        self.machine.partial_fit(X, y)
        self._added(X, y)
        return True

    def _odd_weights(self):
        X, y = self._rows(3)
        weight = [[0, 0, 0], [-1, 1, 1], [np.nan, 1, 1], [1e300, 1, 1], [1e-300] * 3, [1, 1], "x"]
        weight = weight[self.rng.integers(len(weight))]
        before = self.machine.shape_fit_[0]
        self.machine.partial_fit(X, y, sample_weight=weight)
        n = self.machine.shape_fit_[0] - before
        require(n in (2, 3), f"{n} rows came of 3")
        self.machine.forget(np.arange(before, before + n))
        return True

    def _forget_nonsense(self):
        n = len(self.X)
        bad = [
            np.arange(n), [n], [-n - 1], [0, 0], np.ones(n + 1, bool), [0.5], None, "x",
            [np.nan], [[0, 1]], 10**30, np.ones(n, bool), [True, False],
        ]  # fmt: skip
        which = self.rng.integers(len(bad))
        self.machine.forget(bad[which])
        raise Wrong(f"forget takes nonsense ({bad[which]!r:.40}) without a word")

    def _forget_nothing(self):
        self.machine.forget([])
        return None

    def _relabel_nonsense(self):
        bad = [
            ([10**6], [1]), ([0], [7]), ([0, 1], [1]), ([0.5], [1]), (None, None), ([0], ["x"]),
            ([0, 0], [0, 1]), ("x", [1]), ([0], [np.inf]),
        ]  # fmt: skip
        which = self.rng.integers(len(bad))
        self.machine.relabel(*bad[which])
        raise Wrong(f"relabel takes nonsense ({bad[which]}) without a word")

    def _reprice_nonsense(self):
        bad = [(0, 1), (-1, None), (np.nan, 1), (np.inf, 1), ("x", 1), ([1], 1), (None, "x")]
        which = self.rng.integers(len(bad))
        self.machine.reprice(*bad[which])
        raise Wrong(f"reprice takes nonsense ({bad[which]}) without a word")

    def _other_parameters(self):
        before = self.machine.gamma
        self.machine.set_params(gamma=77.0)
        try:
            self.machine.partial_fit(*self._rows(2))
        finally:
            self.machine.set_params(gamma=before)
        raise Wrong("partial_fit goes on with another gamma without a word")

    def _refused_fit(self):
        """A fit that is refused leaves the machine as it was."""
        self.machine.fit(np.full((9, self.d), np.nan), np.arange(9) % 2)
        raise Wrong("fits NaN without a word")

    # -- the end ------------------------------------------------------------------------------

    def _check_end(self):
        machine, X = self.machine, self.X
        if machine.fit_status_ != 0:
            return
        self._check_split()
        check_fitted(machine, self.new)
        if self.kind is S3VM:
            return self._check_objective()
        twin = clone(machine).set_params(tol=1e-6, gamma=machine.gamma_)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if "split" in self.name:  # its own boundary is that of the rows that train
                train = machine.training_rows_.weight > 0
                twin.set_params(target_fpr=None).fit(X[train])
                f, g = (m.score_samples(self.new) for m in (machine, twin))
                require_close(f, g, 1e-3, "other scores than a fit to the rows that train")
                return None
            twin.fit(X, self.y)
        f, g = (m.decision_function(self.new) for m in (machine, twin))
        require_close(f, g, 1e-3, "another answer than a fit to the same rows")
        return None

    def _check_objective(self):
        machine, X, y = self.machine, self.X, self.y
        kernel = ("linear",) if machine.kernel == "linear" else ("rbf", machine.gamma_)
        K = kernel_matrix(kernel, X)
        if np.abs(K).max() > 1e100:
            return
        require(machine.kkt_violation_ <= 1e-3, f"kkt_violation_ {machine.kkt_violation_:.1e}")
        f = machine.decision_function(X)
        coef = np.zeros(len(X))
        if np.any(machine.support_ < 0):
            return
        coef[machine.support_] = machine.dual_coef_[0]
        hinge = np.where(y == -1, 1 - np.abs(f), 1 - np.where(y == 1, f, -f))
        price = np.where(y == -1, machine.C_star, machine.C)
        value = 0.5 * coef @ K @ coef + price @ np.maximum(hinge, 0.0)
        away = abs(value - machine.objective_) / max(1.0, value)
        require(away <= 1e-6, f"objective_ is not the objective: {away:.1e}")


def _plain(X):
    return X.toarray() if sp.issparse(X) else X


def _saved(machine):
    """A machine that was written to a file, without pickle, and read back."""
    import skops.io

    data = skops.io.dumps(machine)
    return skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))


def _together(functions):
    threads = [threading.Thread(target=f) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# Name to whether it is for S3VM only.
OPERATIONS = {
    "add": False,
    "forget": False,
    "add slowly": False,
    "same rows again": False,
    "sparse or frame": False,
    "pickle": False,
    "copy": False,
    "shallow copy": False,
    "caller changes rows": False,
    "interrupted": False,
    "threads that score": False,
    "threads that add": False,
    "slide": False,
    "copies during updates": False,
    "add nonsense": False,
    "add huge": False,
    "odd weights": False,
    "forget nonsense": False,
    "forget nothing": False,
    "other parameters": False,
    "refused fit": False,
    "relabel": True,
    "consolidate": True,
    "reprice": True,
    "relabel nonsense": True,
    "reprice nonsense": True,
}


def make(seed):
    """A case of this area."""
    sequence = Sequence(seed)
    return sequence.describe(), sequence
