"""Cases of columns: numbers of one unit, or of several that only look like it in part."""

import numpy as np
import scipy.sparse as sp

from fewlabels import TableEncoder
from fewlabels.data.units import common_unit, is_feature_table

from .verdict import require


def _measured(rng, n):
    """A quantity in a unit of its own, none of whose ends is that of another one."""
    center, spread = rng.normal() * 10.0 ** rng.integers(-3, 6), 10.0 ** rng.uniform(-4, 4)
    shape = rng.choice(["normal", "uniform", "lognormal", "gamma", "two values", "whole"])
    if shape == "lognormal":
        return spread * rng.lognormal(size=n)
    if shape == "gamma":
        return spread * rng.gamma(1.0, size=n)
    if shape == "two values":
        return center + spread * rng.choice([-1.0, 1.0], n)
    drawn = rng.normal(size=n) if shape != "uniform" else rng.uniform(-1, 1, n)
    if shape == "whole":
        return np.round(1000 * center + 10.0 * drawn)
    return center + spread * drawn


def _constant(rng, n):
    return np.full(n, rng.choice([0.0, 1.0, -3.5, 1e5]))


def _units(rng, n):
    """Measured quantities alone."""
    return [_measured(rng, n) for _ in range(rng.integers(2, 8))]


def _saturated(rng, n):
    """Some columns cut off at one value, beside at least as many others."""
    several = int(rng.integers(2, 6))
    low, high = (0.0, 100.0) if rng.random() < 0.5 else (-1.0, 1.0)
    width = high - low
    cut = [np.clip(rng.normal(high, width / 3, n), low, high) for _ in range(several)]
    return cut + [_measured(rng, n) for _ in range(rng.integers(several, 2 * several + 1))]


def _amounts(rng, n):
    """Amounts, none of which is below 0 and many of which are 0."""
    several = int(rng.integers(2, 8))
    scales = 10.0 ** (np.arange(several) * rng.uniform(0.5, 2.0))
    return [s * rng.gamma(1.0, size=n) * (rng.random(n) < 0.6) for s in rng.permutation(scales)]


def _signs(rng, n):
    """Columns that only change their sign, by amounts of their own."""
    several = int(rng.integers(2, 6))
    sizes = 10.0 ** (np.arange(several) * rng.uniform(0.5, 2.0))
    return [size * rng.choice([-1.0, 1.0], n) for size in sizes]


def _one_large(rng, n):
    """A quantity whose values are far from 0, beside which lengths hardly vary."""
    return [
        1e7 * rng.choice([-1.0, 1.0]) + rng.normal(size=n),
        rng.normal(size=n),
        *_units(rng, n),
    ]


def _codes(rng, n):
    blocks = [np.eye(k)[rng.integers(k, size=n)].T for k in rng.integers(2, 6, 3)]
    return list(np.concatenate(blocks))


def _codes_beside(rng, n):
    """One 0/1 column of each category, in units of thousands, beside something small."""
    return [*(1e3 * column for column in _codes(rng, n)), rng.normal(size=n)]


def _pixels(rng, n):
    width = int(rng.integers(9, 40))
    centre = np.clip(rng.normal(120, 110, (width, n)), 0, 255).round()
    return [*centre, *(7.0 * (row > 200) for row in centre[: width // 5])]


def _answers(rng, n):
    return list(rng.integers(1, 6, (rng.integers(2, 12), n)).astype(float))


def _texts(rng, n):
    X = rng.random((n, 12)) * (rng.random((n, 12)) < 0.4)
    X[:, 0] += 0.01
    return list((X / np.linalg.norm(X, axis=1, keepdims=True)).T)


KINDS = {
    "units of their own": (_units, False),
    "saturated in part": (_saturated, False),
    "amounts": (_amounts, False),
    "signs": (_signs, False),
    "far from 0": (_one_large, False),
    "codes beside a number": (_codes_beside, False),
    "codes": (_codes, True),
    "pixels": (_pixels, True),
    "answers": (_answers, True),
    "texts": (_texts, True),
}


class Case:
    """Columns in any order, perhaps with constant ones between them, and how they are taken."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng([13, 7, seed])
        self.kind = str(rng.choice(list(KINDS)))
        self.n = int(rng.choice([60, 200, 1500]))
        self.n_constant = int(rng.choice([0, 0, 1, 4]))
        self.storage = str(rng.choice(["rows", "rows", "single precision", "sparse", "gaps"]))

    def describe(self):
        constant = f", {self.n_constant} constant" if self.n_constant else ""
        return f"{self.kind}{constant}, {self.n} rows, {self.storage}"

    def __call__(self):
        make, is_shared = KINDS[self.kind]
        columns = [*make(self.rng, self.n)]
        columns += [_constant(self.rng, self.n) for _ in range(self.n_constant)]
        if self.kind in ("codes", "texts", "codes beside a number"):
            # Another number in every row would make its length another one.
            columns = [c for c in columns if np.ptp(c) > 0 or not c[0]]
        X = np.column_stack([columns[j] for j in self.rng.permutation(len(columns))])
        stored = X
        if self.storage == "single precision":
            stored = X.astype(np.float32)
        elif self.storage == "sparse":
            stored = sp.csr_array(X)
        elif self.storage == "gaps":
            stored = X.copy()
            stored[self.rng.integers(self.n, size=5), self.rng.integers(X.shape[1], size=5)] = (
                np.nan
            )
        why = common_unit(stored)
        require((why is not None) is is_shared, f"{why or 'no unit'}")
        if is_shared and "length" not in why:
            largest = np.abs(X[:, np.ptp(X, axis=0) > 0]).max()
            require(f"{largest:.5g}" in why, f"not its largest value: {why}")
        self._check_users(stored, why)

    def _check_users(self, X, why):
        """What encodes tables, and what chooses kernels, decide alike."""
        if sp.issparse(X) or np.isnan(X).any():
            return
        encoder = TableEncoder().fit(X)
        varies = np.ptp(X, axis=0) > 0
        spread = encoder.transform(X)[:, : X.shape[1]][:, varies].std(axis=0)
        scaled = np.allclose(spread, 1.0, atol=1e-3)
        require(scaled is (why is None), f"scaled: {scaled}, but {why}")
        if 4 <= X.shape[1] <= 128 and not np.isin(X[:1000], (0, 1)).all():
            require(is_feature_table(X) is (why is None), f"a table: {is_feature_table(X)}, {why}")


def make(seed):
    """A case of this area."""
    case = Case(seed)
    return case.describe(), case
