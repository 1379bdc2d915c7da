"""Trees of random or best splits by recursion, with the random numbers of the core, for tests."""

import numpy as np

_WORD = 2**64 - 1


class Random:
    """Steele, Lea and Flood's splitmix64."""

    def __init__(self, state):
        self.state = state & _WORD

    def bits(self):
        self.state = z = (self.state + 0x9E3779B97F4A7C15) & _WORD
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
        return z ^ (z >> 31)

    def uniform(self):
        return (self.bits() >> 11) * 2.0**-53

    def below(self, n):
        return int(self.uniform() * n)


class ReferenceForest:
    """Trees as nested tuples ``(column, threshold, left, right)``; a leaf is its number."""

    def __init__(self, X, place, n_trees, seed, smallest=1, drawn=0, best=False):
        X, place = np.asarray(X, dtype=np.float32).astype(float), np.asarray(place)
        self.tried, self.smallest = max(1, int(np.sqrt(X.shape[1]))), smallest
        self.best, self.trees, self.n_leaves, self.times = best, [], [], []
        for tree in range(n_trees):
            random = Random(Random(seed).bits() + tree * 0xD1B54A32D192ED03)
            times = np.ones(len(X), dtype=int)
            if drawn:
                rows = [random.below(len(X)) for _ in range(drawn)]
                times = np.bincount(rows, minlength=len(X))
            counts = np.bincount(place, times, minlength=place.max() + 1)
            weight = np.where(counts > 0, times.sum() / np.maximum(counts, 1), 0.0)
            self.random, self.columns, self.leaf = random, list(range(X.shape[1])), 0
            seen = times > 0
            given = X[seen], place[seen], (weight[place] * times)[seen]
            self.trees.append(self._grown(*given))
            self.n_leaves.append(self.leaf)
            self.times.append(times)

    def _purity(self, place, weight):
        sums = np.bincount(place, weight)
        return np.sum(sums**2) / np.sum(sums)

    def _thresholds(self, x):
        if self.best:
            values = np.unique(x)
            found = 0.5 * values[:-1] + 0.5 * values[1:]
            return np.where(found < values[1:], found, values[:-1])
        low, high = x.min(), x.max()
        threshold = low + self.random.uniform() * (high - low)
        return [threshold if threshold < high else low]

    def _split(self, X, place, weight):
        best, varies = None, False
        if len(np.unique(place)) < 2 or len(X) < 2 * self.smallest:
            return None
        for i in range(len(self.columns)):
            if i >= self.tried and varies:
                break
            j = i + self.random.below(len(self.columns) - i)
            self.columns[i], self.columns[j] = self.columns[j], self.columns[i]
            x = X[:, self.columns[i]]
            if x.min() == x.max():
                continue
            varies = True
            for threshold in self._thresholds(x):
                below = x <= threshold
                if min(below.sum(), (~below).sum()) < self.smallest:
                    continue
                score = sum(self._purity(place[side], weight[side]) for side in (below, ~below))
                if best is None or score > best[0] * (1 + 1e-12):
                    best = score, self.columns[i], threshold, below
        return best

    def _grown(self, X, place, weight):
        split = self._split(X, place, weight)
        if split is None:
            self.leaf += 1
            return self.leaf - 1
        _, column, threshold, below = split
        sides = [self._grown(X[side], place[side], weight[side]) for side in (below, ~below)]
        return column, threshold, *sides

    def apply(self, X):
        """The number of the leaf of every row in every tree."""
        found = np.empty((X.shape[0], len(self.trees)), dtype=int)
        X = np.asarray(X, dtype=np.float32).astype(float)
        for k, tree in enumerate(self.trees):
            waiting = [(tree, np.arange(len(X)))]
            while waiting:
                node, rows = waiting.pop()
                if not isinstance(node, tuple):
                    found[rows, k] = node
                    continue
                column, threshold, left, right = node
                below = X[rows, column] <= threshold
                waiting += [(left, rows[below]), (right, rows[~below])]
        return found
