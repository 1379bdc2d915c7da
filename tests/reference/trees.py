"""Extremely randomized trees by recursion, with the random numbers of the core, for tests."""

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

    def __init__(self, X, place, n_trees, seed, smallest=1, drawn=0):
        X, place = np.asarray(X, dtype=np.float32), np.asarray(place)
        self.tried, self.smallest = max(1, int(np.sqrt(X.shape[1]))), smallest
        self.trees, self.n_leaves = [], []
        for tree in range(n_trees):
            random = Random(Random(seed).bits() + tree * 0xD1B54A32D192ED03)
            rows = np.arange(len(X))
            if drawn:
                rows = np.array([random.below(len(X)) for _ in range(drawn)])
            counts = np.bincount(place[rows], minlength=place.max() + 1)
            weight = np.where(counts > 0, len(rows) / np.maximum(counts, 1), 0.0)
            self.random, self.columns, self.leaf = random, list(range(X.shape[1])), 0
            self.trees.append(self._grown(X[rows].astype(float), place[rows], weight))
            self.n_leaves.append(self.leaf)

    def _purity(self, place, weight):
        sums = np.bincount(place, weight[place], minlength=len(weight))
        return np.sum(sums**2) / np.sum(sums)

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
            low, high = x.min(), x.max()
            if low == high:
                continue
            varies = True
            threshold = low + self.random.uniform() * (high - low)
            threshold = threshold if threshold < high else low
            below = x <= threshold
            if min(below.sum(), (~below).sum()) < self.smallest:
                continue
            score = self._purity(place[below], weight) + self._purity(place[~below], weight)
            if best is None or score > best[0] * (1 + 1e-12):
                best = score, self.columns[i], threshold, below
        return best

    def _grown(self, X, place, weight):
        split = self._split(X, place, weight)
        if split is None:
            self.leaf += 1
            return self.leaf - 1
        _, column, threshold, below = split
        sides = [self._grown(X[side], place[side], weight) for side in (below, ~below)]
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
