"""IL-S3VM as printed: Algorithm 1 of Gu et al. (2018) on doubled samples, dense and slow."""

from dataclasses import dataclass

import numpy as np

# A shorter step is of no length; the steps of a path are shares of the way to its end.
NO_LENGTH = 1e-10
_TIE = 1e-9


def clouds(seed, n, n_added, rounded=False):
    """Rows in two clouds, eight labels first; about half of the last ``n_added`` have one too."""
    rng = np.random.default_rng(seed)
    truth = np.where(np.arange(n + n_added) % 2 == 0, 1, -1)
    X = rng.normal(size=(n + n_added, 4)) + 0.6 * truth[:, None]
    label = np.where(np.arange(n + n_added) < 8, truth, 0)
    label[n:] = np.where(rng.random(n_added) < 0.5, truth[n:], 0)
    return np.round(0.7 * X) if rounded else X, label


class NotCovered(Exception):
    """A state for which the paper gives no direction, or from which the path doesn't end."""


@dataclass
class Step:
    """One pass of lines 7 to 9 of Algorithm 1.

    ``kind`` is "added" where A was the added sample alone, "flipped" where A was without it, else
    "both". ``rise`` is the change of W. ``sample`` went from a set to another, unless ``left`` is
    "flip", where its row's f changed sign, or "bound", where all of A arrived.
    """

    length: float
    kind: str
    rise: float
    left: str
    sample: int
    reached: str = ""


class IncrementalS3VM:
    """A local minimum as the paper stores it, and Algorithm 1 for one more row.

    Parameters
    ----------
    K : ndarray
        Kernel matrix of all rows, those to be added included.
    label : ndarray of {-1, 0, 1}
        Labels of the first rows, 0 for unlabelled ones.
    a, sign, b : ndarray, ndarray, float
        A solution in one variable per row, the side of every row, and b'.
    """

    def __init__(self, K, label, a, sign, b, C, C_star):
        self.K, self.C, self.C_star, self.b = K, C, C_star, b
        self.row, self.y, self.doubled = [], [], []
        self.alpha, self.side, self.steps = np.zeros(0), {}, []
        for i, value in enumerate(a):
            self.side[i] = sign[i]
            if label[i]:
                self._append(i, label[i], False, value)
                continue
            # The sample with the label of its side is filled first.
            first = sign[i] * min(abs(value), C_star)
            for y in (1, -1):
                self._append(i, y, True, first if y == sign[i] else value - first)
        self._measure()
        self.place = [self._classify(i) for i in range(len(self.y))]

    def _append(self, row, y, doubled, alpha):
        self.row.append(row)
        self.y.append(float(y))
        self.doubled.append(doubled)
        self.alpha = np.append(self.alpha, alpha)

    def _measure(self):
        self.f = self.K[:, self.row] @ self.alpha + self.b

    def bounds(self, i):
        """(7) and (8), with mu from (5)."""
        y = self.y[i]
        mu = self.C_star * (self.doubled[i] and y * self.side[self.row[i]] < 0)
        size = self.C_star if self.doubled[i] else self.C
        return (-mu, size - mu) if y > 0 else (mu - size, mu)

    def _classify(self, i):
        low, high = self.bounds(i)
        g, a, near = self.f[self.row[i]] - self.y[i], self.alpha[i], _TIE * self.C
        if abs(g) <= _TIE and low - near <= a <= high + near:
            return "M"
        if g < 0 and abs(a - high) <= near:
            return "E"
        return "O" if g > 0 and abs(a - low) <= near else "A"

    def objective(self):
        """W of (9), at a point that satisfies (10)."""
        return 0.5 * self.alpha @ (self.f - self.b)[self.row] - np.dot(self.y, self.alpha)

    def violation(self):
        """Largest violation of (10) and (11), and of (5)."""
        found = [abs(self.alpha.sum())]
        for i, a in enumerate(self.alpha):
            (low, high), row = self.bounds(i), self.row[i]
            g = self.f[row] - self.y[i]
            found += [low - a, a - high, -g if a < high - _TIE else 0, g if a > low + _TIE else 0]
            found.append(-self.side[row] * self.f[row] if self.doubled[i] else 0)
        return max(found)

    def add(self, row, label, most=3000):
        """Follow Algorithm 1 for one row, its samples one after the other."""
        self.side[row] = 1 if self.f[row] >= 0 else -1
        for y in (label,) if label else (1, -1):
            self._append(row, y, not label, 0.0)
            self.place.append(self._classify(len(self.y) - 1))
            while "A" in self.place:
                if not most:
                    raise NotCovered("the path doesn't end")
                self._step(len(self.y) - 1)
                most -= 1

    def _step(self, added):
        place, rows = np.array(self.place), np.array(self.row)
        M, A = np.flatnonzero(place == "M"), np.flatnonzero(place == "A")
        target = {i: self.bounds(i)[1 if self.y[i] > 0 else 0] for i in A}
        beta = np.zeros(len(rows))
        beta[A] = [target[i] - self.alpha[i] for i in A]
        # (12)
        system = np.ones((len(M) + 1, len(M) + 1))
        system[0, 0], system[1:, 1:] = 0.0, self.K[np.ix_(rows[M], rows[M])]
        right = -np.append(beta[A].sum(), self.K[np.ix_(rows[M], rows[A])] @ beta[A])
        solution = np.linalg.lstsq(system, right, rcond=1e-11)[0]
        if np.abs(system @ solution - right).max() > 1e-7 * (1 + np.abs(right).max()):
            raise NotCovered("(12) has no solution")
        shift, beta[M] = solution[0], solution[1:]
        gamma = self.K[:, rows] @ beta + shift  # (13), for every row
        length, event, which = self._largest_step(beta, gamma)
        kind = "added" if list(A) == [added] else "both" if added in A else "flipped"
        before = self.objective()
        self.alpha += length * beta
        self.b += length * shift
        self._measure()
        rise = self.objective() - before
        self.steps.append(Step(length, kind, rise, event, which))
        if event == "flip":
            row = self.row[which]
            self.side[row] = -self.side[row]
            for i in np.flatnonzero(rows == row):
                self.place[i] = self._classify(i)
        elif event == "bound":  # all of A arrive together
            for i in A:
                self.alpha[i] = target[i]
                self.place[i] = "E" if self.y[i] > 0 else "O"
        elif event == "M":
            low, high = self.bounds(which)
            self.alpha[which] = high if beta[which] > 0 else low
            self.place[which] = "E" if beta[which] > 0 else "O"
        else:
            self.place[which] = "M"
        self.steps[-1].reached = self.place[which] if which >= 0 else ""

    def _largest_step(self, beta, gamma):
        """Corollary 2, where (21) and (22) have the signs that samples of A need."""
        found = [(1.0, "bound", -1)]  # (19) and (20)
        rises = {"E": 1, 1.0: 1, "O": -1, -1.0: -1}  # where g goes to become 0
        for i, y in enumerate(self.y):
            f, rate = self.f[self.row[i]], gamma[self.row[i]]
            place, g = self.place[i], f - y
            if place == "M" and abs(beta[i]) > 1e-12:  # (14)
                end = self.bounds(i)[int(beta[i] > 0)]
                found.append(((end - self.alpha[i]) / beta[i], "M", i))
            elif place != "M" and rises[place if place != "A" else y] * rate > 1e-12:
                found.append((-g / rate, place, i))  # (15), (16), (21), (22)
            if self.doubled[i] and self.side[self.row[i]] * rate < -1e-12:  # (17), (18)
                found.append((-f / rate, "flip", i))
        length, event, which = min(found)
        return max(length, 0.0), event, which
