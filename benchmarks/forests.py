"""Forests that kernels of trees, class priors and class ratios grow, compared with scikit-learn's.

    python benchmarks/forests.py [--quick]

CPU seconds of 200 trees on 300 to 100 000 rows of 20 columns: random forests, which
`kernel="trees"` of PUSVM and PUEnsemble grows; extremely randomized trees with out-of-bag votes,
for priors; and extremely randomized trees on all rows, for `kernel="trees"` of S3VM.

Writes forests.json, an entry of the results file.
"""

from __future__ import annotations

import time

import numpy as np
from common import machine, options
from results import entry, write
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from fewlabels.kernels.growing import VotingForest, grow_forest

SIZES, TREES = (300, 1000, 10_000, 100_000), 200


def kernel_of_pu(X, y):
    return grow_forest(X, y, TREES, splits="best", min_samples_leaf=3, drawn=round(0.3 * len(y)))


def prior(X, y):
    return VotingForest(X, y, TREES, min_samples_leaf=2, drawn=len(y)).predict_out_of_bag()


def kernel_of_s3vm(X, y):
    return grow_forest(X, y, TREES)


PAIRS = {
    "kernel of PUEnsemble": (
        kernel_of_pu,
        RandomForestClassifier(
            TREES, min_samples_leaf=3, max_samples=0.3, class_weight="balanced_subsample"
        ),
    ),
    "votes for a prior": (
        prior,
        ExtraTreesClassifier(
            TREES, min_samples_leaf=2, bootstrap=True, oob_score=True,
            class_weight="balanced_subsample",
        ),
    ),
    "kernel of S3VM": (kernel_of_s3vm, ExtraTreesClassifier(TREES, class_weight="balanced")),
}  # fmt: skip


def seconds(call, *given):
    """CPU seconds of a call."""
    started = time.process_time()
    call(*given)
    return time.process_time() - started


def table(n):
    """Rows, and which are labelled: a tenth, two fifths of the positive ones."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 20))
    positive = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n) > 1.0
    return X, (positive & (rng.random(n) < 0.4)).astype(int)


def main():
    args = options(__doc__).parse_args()
    sizes = SIZES[:2] if args.quick else SIZES
    rows = []
    for name, (own, theirs) in PAIRS.items():
        row = [name]
        for n in sizes:
            X, y = table(n)
            turns = 3 if n <= 10_000 else 1
            found = [(seconds(own, X, y), seconds(theirs.fit, X, y)) for _ in range(turns)]
            ours, other = (min(times) for times in zip(*found, strict=True))
            row += [ours, other / ours]
        rows.append(row)
        print(name, *(f"{value:.3g}" for value in row[1:]), flush=True)
    info = machine()
    columns = [f"{n:,} rows, {what}" for n in sizes for what in ("s", "scikit-learn, ratio")]
    one = entry(
        "forests", columns, rows, label="200 trees, 20 columns", unit="CPU seconds, and ratios",
        formats=["3g", ".1f"] * len(sizes), program="python benchmarks/forests.py",
        hardware=f"{info['cores']} cores, {info['processor']}",
    )  # fmt: skip
    write([one], args.out, "forests", quick=args.quick)


if __name__ == "__main__":
    main()
