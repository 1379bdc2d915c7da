"""Random programs of adds, removals, relabels and moves on nasty data, and their judge.

The judge keeps its own list of rows and penalties, computes the kernel matrix by its own code and
checks the optimality conditions of every state.
"""

import pickle

import numpy as np
import scipy.sparse as sp
from reference import kernel_matrix, kkt_residual

from fewlabels import kernels
from fewlabels.problem import Penalty
from fewlabels.solvers.path import PathFollower, RowPenalties

MACHINES = (
    "s3vm",
    "s3vm keep",
    "s3vm paper",
    "svm",
    "one-class",
    "svdd-linear",
    "svdd-squared",
    "pu",
)
DATA = ("normal", "duplicates", "triplets", "binary", "line", "grid", "constant", "clusters")
TOLERANCE = 1e-8


def random_rows(rng, kind, n):
    if kind == "normal":
        return rng.normal(size=(n, int(rng.integers(1, 6))))
    if kind in ("duplicates", "triplets"):
        base = rng.normal(
            size=(max(1, n // (2 if kind == "duplicates" else 3)), int(rng.integers(1, 4)))
        )
        return base[rng.integers(0, len(base), n)]
    if kind == "binary":
        return rng.integers(0, 2, size=(n, int(rng.integers(2, 8)))).astype(float)
    if kind == "line":
        return np.sort(rng.uniform(-3, 3, size=(n, 1)), axis=0)[rng.permutation(n)]
    if kind == "grid":
        return rng.integers(-2, 3, size=(n, 2)).astype(float)
    if kind == "constant":
        return np.full((n, 2), rng.normal()) + (rng.random((n, 1)) < 0.2)
    return rng.normal(size=(n, 2)) * 0.3 + rng.choice([-2.0, 2.0], size=(n, 1))


def random_kernel(rng):
    """A kernel for the package and the same for the judge."""
    kind = rng.choice(["rbf", "rbf", "linear", "poly"])
    if kind == "rbf":
        gamma = float(rng.choice([0.01, 0.1, 1.0, 5.0]))
        return kernels.RBF(gamma), ("rbf", gamma)
    if kind == "linear":
        return kernels.Linear(), ("linear",)
    return kernels.Polynomial(1.0, 2, 1.0), ("poly", 1.0, 2, 1.0)


class Program:
    """One random program.

    Parameters
    ----------
    seed : int
        What decides everything.
    size : int
        Rows at most.
    machine : str or None
        One of ``MACHINES``; None for any.
    """

    def __init__(self, seed, size=60, machine=None):
        self.rng = rng = np.random.default_rng([20181, seed])
        self.size = int(rng.integers(3, size + 1))
        self.machine = str(rng.choice(MACHINES) if machine is None else machine)
        self.data = str(rng.choice(DATA))
        self.kernel, self.judge_kernel = random_kernel(rng)
        self.pool = random_rows(rng, self.data, 400)
        wide = rng.random() < 0.3
        self.C, self.C_star = (
            10.0 ** rng.uniform(-3, 4, 2) if wide else 10.0 ** rng.uniform(-1, 1.2, 2)
        )
        self.nu = float(rng.uniform(0.05, 0.9))
        self.scale = 2.0 if self.machine.startswith("svdd") else 1.0
        self.balance = self.machine.split()[1] if " " in self.machine else None
        self.target = float(rng.choice([0.0, rng.uniform(-0.8, 0.8)])) if self.balance else None
        self.X = np.zeros((0, self.pool.shape[1]))
        self.rows = np.zeros((6, 0))  # lower, kink, upper, left, right, ridge; for the sign +1
        self.symmetric = np.zeros(0, bool)
        self.label = np.zeros(0)
        self.sparse = bool(rng.random() < 0.2)
        # Now and then room for a few columns only.
        cache_size = 200e6 if rng.random() < 0.7 else 3e3 * rng.integers(0, 8)
        self.path = PathFollower(
            self.kernel, scale=self.scale, balance=self.balance, cache_size=cache_size
        )
        self.log = []
        self.worst = 0.0

    def describe(self):
        costs = f"C={self.C:.3g}, C*={self.C_star:.3g}"
        return f"{self.machine}, {self.data}, {self.kernel}, {costs}, size {self.size}"

    # -- rows -------------------------------------------------------------------------------

    def total(self, n):
        if self.machine == "one-class":
            return self.nu * n
        if self.machine == "pu":
            return self.nu * n * self.C
        return 1.0 if self.machine.startswith("svdd") else 0.0

    def smallest(self):
        """Fewest rows for which the problem has a solution."""
        if self.machine == "svdd-linear":
            return int(np.ceil(1.0 / self.C_svdd() + 1e-9))
        return 1 if self.machine in ("svdd-squared", "one-class", "pu") else 0

    def C_svdd(self):
        return max(self.C, 0.1)

    def penalties(self, X, label):
        """(6, n) array and flags of the symmetric hinge; label 0 is unlabelled."""
        n = len(X)
        diagonal = np.array([kernel_matrix(self.judge_kernel, x[None])[0, 0] for x in X])
        zero, one = np.zeros(n), np.ones(n)
        symmetric = np.zeros(n, bool)
        if self.machine.startswith("s3vm") or self.machine == "svm":
            symmetric = label == 0
            cost = np.where(symmetric, self.C_star, self.C)
            up = np.where(label >= 0, cost, 0.0)
            low = np.where(label < 0, -cost, 0.0)
            slope = np.where(label >= 0, -1.0, 1.0)
            return np.array([low, low, up, slope, slope, zero]), symmetric
        if self.machine == "one-class":
            return np.array([zero, zero, one, zero, zero, zero]), symmetric
        if self.machine == "svdd-linear":
            return np.array(
                [zero, zero, self.C_svdd() * one, -diagonal, -diagonal, zero]
            ), symmetric
        if self.machine == "svdd-squared":
            ridge = one / (2 * self.C)
            return np.array([zero, zero, np.inf * one, -diagonal, -diagonal, ridge]), symmetric
        c2 = self.C * one
        linear = -np.sin(X[:, 0])
        return np.array([zero, c2 / 2, c2, linear - 1, linear + 1, zero]), symmetric

    @staticmethod
    def spec(rows, symmetric):
        return RowPenalties(
            Penalty.from_arrays([r.copy() for r in rows[:5]]), symmetric.copy(), rows[5].copy()
        )

    def fresh_rows(self, n):
        X = self.pool[self.rng.integers(0, len(self.pool), n)]
        label = np.zeros(n)
        if self.machine == "svm":
            label = self.rng.choice([-1.0, 1.0], n)
        elif self.machine.startswith("s3vm"):
            label = self.rng.choice([-1.0, 0.0, 0.0, 1.0], n)
        return X, label

    # -- operations -----------------------------------------------------------------------------

    def add(self, n):
        X, label = self.fresh_rows(n)
        rows, symmetric = self.penalties(X, label)
        total = self.total(len(self.X) + n)
        block = bool(self.rng.random() < 0.6)
        self.log.append(f"add {n} {'block' if block else 'singly'}")
        target = self.target if self.balance and not len(self.X) else None
        arguments = dict(block=block, total=total, target=target)
        given = sp.csr_array(X) if self.sparse else X
        if self.rng.random() < 0.1:
            done = self.path.add(given, self.spec(rows, symmetric), max_steps=2, **arguments)
            while not done:
                done = self.path.run(int(self.rng.integers(1, 5)))
        else:
            self.path.add(given, self.spec(rows, symmetric), **arguments)
        self.X = np.vstack([self.X, X])
        self.rows = np.hstack([self.rows, rows])
        self.symmetric, self.label = (
            np.append(self.symmetric, symmetric),
            np.append(self.label, label),
        )

    def remove(self, n):
        n = min(n, len(self.X) - self.smallest())
        if n <= 0:
            return
        indices = self.rng.choice(len(self.X), n, replace=False)
        total = self.total(len(self.X) - n)
        block = total is not None or bool(self.rng.random() < 0.6)
        self.log.append(f"remove {indices.tolist()} {'block' if block else 'singly'}")
        self.path.remove(indices, block=block, total=total)
        self.X = np.delete(self.X, indices, axis=0)
        self.rows = np.delete(self.rows, indices, axis=1)
        self.symmetric, self.label = (
            np.delete(self.symmetric, indices),
            np.delete(self.label, indices),
        )

    def relabel(self, n):
        if not self.machine.startswith("s") or self.machine.startswith("svdd") or not len(self.X):
            return
        indices = self.rng.choice(len(self.X), min(n, len(self.X)), replace=False)
        _, label = self.fresh_rows(len(indices))
        rows, symmetric = self.penalties(self.X[indices], label)
        block = bool(self.rng.random() < 0.6)
        self.log.append(f"relabel {indices.tolist()} to {label.tolist()}, block={block}")
        self.path.change(indices, self.spec(rows, symmetric), block=block)
        self.rows[:, indices], self.symmetric[indices], self.label[indices] = (
            rows,
            symmetric,
            label,
        )

    def move(self):
        """C, C*, the target, nu or the slopes move steadily."""
        if not len(self.X):
            return
        what = self.rng.random()
        if self.balance and what < 0.3:
            self.target = float(self.rng.uniform(-0.8, 0.8))
            self.log.append(f"target {self.target}")
            self.path.move(target=self.target)
            return
        if self.machine in ("one-class", "pu") and what < 0.5:
            self.nu = float(self.rng.uniform(0.05, 0.9))
            self.log.append(f"nu {self.nu}")
            self.path.move(total=self.total(len(self.X)))
            return
        if self.machine == "pu":
            factor = float(2.0 ** self.rng.uniform(-1, 1))
            self.log.append(f"slopes times {factor}")
            self.rows[3:5] *= factor
            self.path.move(np.arange(len(self.X)), self.spec(self.rows, self.symmetric))
            return
        if self.machine in ("svdd-squared", "one-class"):
            return
        self.C *= float(2.0 ** self.rng.uniform(-1, 1))
        self.C_star *= float(2.0 ** self.rng.uniform(-1, 1))
        if len(self.X) < self.smallest():
            self.C = 1.0
        self.log.append(f"C {self.C} C* {self.C_star}")
        rows, symmetric = self.penalties(self.X, self.label)
        self.path.move(np.arange(len(self.X)), self.spec(rows, symmetric))
        self.rows = rows

    def step(self):
        rng = self.rng
        what = rng.random()
        if len(self.X) < max(1, self.smallest()):
            self.add(max(1, self.smallest()) - len(self.X))
        elif what < 0.45 and len(self.X) < self.size:
            self.add(int(rng.choice([1, 1, 1, 2, 5, 12])))
        elif what < 0.65 or len(self.X) >= self.size:
            self.remove(int(rng.choice([1, 1, 1, 2, 5, len(self.X)])))
        elif what < 0.82:
            self.relabel(int(rng.choice([1, 1, 3])))
        elif what < 0.94:
            self.move()
        elif what < 0.97:
            self.log.append("pickle")
            self.path = pickle.loads(pickle.dumps(self.path))
        else:
            self.log.append("refresh")
            self.path.refresh()
        return self.judge()

    def run(self, operations):
        """Run operations; returns the largest excess violation."""
        for _ in range(operations):
            self.worst = max(self.worst, self.step())
        return self.worst

    # -- the judge --------------------------------------------------------------------------------

    def judge(self):
        """Violation of the optimality conditions, less what rounding excuses."""
        path, n = self.path, len(self.X)
        assert path.finished and len(path) == n
        a, signs = path.a, path.signs
        assert np.array_equal(signs != 0, self.symmetric)
        if n == 0:
            return 0.0
        low, kink, up, left, right, ridge = self.rows.copy()
        turned = signs < 0
        low[turned], up[turned], kink[turned] = -up[turned], -low[turned], -up[turned]
        left[turned], right[turned] = -left[turned], -right[turned]
        if not (np.all(a >= low) and np.all(a <= up)):
            return np.inf
        K = kernel_matrix(self.judge_kernel, self.X)
        virtual = 0.0
        if self.balance and self.symmetric.any():
            mean = self.symmetric / self.symmetric.sum()
            K = np.block(
                [[K, (K @ mean)[:, None]], [(mean @ K)[None], np.array([[mean @ K @ mean]])]]
            )
            virtual = path.virtual
            a = np.append(a, virtual)
            extra = (-np.inf, -np.inf, np.inf, -self.target, -self.target, 0.0)
            low, kink, up, left, right, ridge = (
                np.append(v, e)
                for v, e in zip((low, kink, up, left, right, ridge), extra, strict=True)
            )
        else:
            assert path.virtual == 0.0
        Q = self.scale * K + np.diag(ridge)
        slope_size = max(1.0, np.abs(left).max(), np.abs(right).max())
        excuse = 4e-16 * (np.abs(Q) @ np.abs(a)).max() + 1e-300
        total = abs(a.sum() - self.total(n)) / max(1.0, np.abs(a).sum())
        kkt = kkt_residual(Q, (low, kink, up, left, right), a)
        f = Q @ a - path.multiplier
        side = np.maximum(0.0, -signs * f[:n]).max(initial=0.0)
        carried = np.abs(f[:n] - path.h).max(initial=0.0)
        own = path.violation()
        values = [max(0.0, v - excuse) / slope_size for v in (kkt, side, carried, own)]
        return max([*values, total])
