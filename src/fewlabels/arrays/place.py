"""Rows on a device, as a place that is queried."""

from dataclasses import replace

import numpy as np

from ..gram.tiles.features import middle
from ..solvers.engine.partition import Partition
from ..solvers.engine.rows import Rows
from ..training.elsewhere.moments import Moments
from ..training.elsewhere.place import MemoryPart, Part, Place, refuse_no_numbers
from .gram import ArrayGram
from .penalty import ArrayPenalty, one_or_all
from .values import parts_of

# Numbers that are looked at a time, and the largest that has a square; rows for a median.
_AT_A_TIME, _LARGEST, _LOOKED_AT = 16_000_000, 1e150, 1000


class ArrayPart(Part):
    """All rows of an array ``X``, which stay where they are; weights and marks are NumPy's."""

    def __init__(self, home, X, weight=None):
        super().__init__(X.shape[0], 0, weight)
        self.home, self.X = home, X

    def pieces(self):
        for part in parts_of(self.n, self.X.shape[1], _AT_A_TIME):
            yield part, self.home.numpy(self.X[part, :])

    def take(self, places):
        return self.home.numpy(self.home.xp.take(self.X, self.home.rows(places), axis=0))

    def gram(self, recipe):
        gram = ArrayGram(self.home, self.X, recipe)
        return gram if gram.is_as_exact_as_it_says() else gram.refined()

    # -- sums of all rows, where they are ------------------------------------------------------

    def moments(self):
        weight = np.ones(self.n) if self.weight is None else self.weight
        there = self.home.zeros(self.n) + 1.0
        if self.weight is not None:
            there = self.home.array(weight, float)
        found = Moments.combined(
            self._moments(part, there[part], weight[part])
            for part in parts_of(self.n, self.X.shape[1], _AT_A_TIME)
        )
        # Rows that are far away take no digits from the others where the centre is a median.
        some = self.home.numpy(self.X[:: -(-self.n // _LOOKED_AT), :])
        return replace(found, center=middle(some))

    def _moments(self, part, there, weight):
        xp, home, d = self.home.xp, self.home, self.X.shape[1]
        rows = home.exactly(self.X[part, :])
        largest = float(xp.max(xp.abs(rows)))
        if not largest <= _LARGEST:
            refuse_no_numbers(home.numpy(rows), part.start.__add__)
        total, n = float(weight.sum()), int(np.count_nonzero(weight))
        if not n:
            return Moments(0, 0.0, np.zeros(d), np.zeros(d), np.zeros(d), largest, 0)
        counts = home.exactly(there > 0.0)
        mean = there @ rows / total
        squares = there @ ((rows - mean) * (rows - mean))
        found = home.numpy(xp.stack([mean, squares, counts @ rows / n]))
        return Moments(n, total, *map(np.array, found), largest, d)

    def farthest(self, center):
        xp, found = self.home.xp, 0.0
        center = None if center is None else self.home.array(center, float)
        for part in parts_of(self.n, self.X.shape[1], _AT_A_TIME):
            rows = self.home.exactly(self.X[part, :])
            rows = rows if center is None else rows - center
            found = max(found, float(xp.max(xp.sum(rows * rows, axis=1))))
        return found


class ArrayPlace(Place):
    """Rows of an array that compute where they are: one part, one partition.

    Entries of the history tell the passes over all rows and the bytes that went to the device or
    came from it, both so far.
    """

    are, instead = "rows of the array API", "NumPy rows"
    share = 0.1

    def __init__(self, home, X, weight=None, n_jobs=1):
        self.home, self.parts = home, [ArrayPart(home, X, weight)]
        self.shape, self.n_jobs_of_part = tuple(X.shape), n_jobs
        self.dtype = np.dtype(np.float32 if X.dtype == home.float32 else np.float64)
        self._partition = None

    def marked(self, **marks):
        """The same rows with marks: arrays of NumPy, of an entry a row."""
        self.parts[0].marks.update(marks)
        return self

    def ask_each(self, questions):
        (question,) = questions
        return [question(self.parts[0])]

    def leave_out(self, mask):
        part = self.parts[0]
        part.weight = np.where(mask, 0.0, 1.0 if part.weight is None else part.weight)

    def spent(self):
        passes = 0 if self._partition is None else self._partition.gram.passes
        return {"passes": passes, "bytes_moved": self.home.moved}

    def rows(self, recipe):
        part, home = self.parts[0], self.home
        gram = part.gram(recipe)
        alike = part.weight is None and not part.marks and recipe.kernel.is_similarity
        size = home.array(1.0) if recipe.kernel.is_similarity else gram.diagonal()
        if alike:  # one row says all
            penalty, ridge = recipe.stated(MemoryPart(np.zeros((1, 1))), np.ones(1))
        else:
            diagonal = np.broadcast_to(home.numpy(size), part.n) * 1.0
            penalty, ridge = recipe.stated(part, diagonal)
        self._partition = Partition(
            gram, ArrayPenalty.of(home, penalty, part.n), one_or_all(home, ridge),
            recipe.formulation.scale, size=size, arrays=home,
        )  # fmt: skip
        return Rows([self._partition], recipe.total(), recipe.formulation.scale)
