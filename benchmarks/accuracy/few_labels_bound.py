"""Few labels: how far anybody gets who knows which method suits each table.

    FEWLABELS_DATA=/path/to/data python benchmarks few_labels_bound
    python benchmarks few_labels_bound --data FOLDER --out FOLDER [--draws 8]

Tables, draws and numbers of labels are those of `few_labels.py`, labels drawn at random. Eleven
methods learn from the labels. For each draw of a table, the method counts that was best on the
table's other draws, by their test rows: nobody who has labels alone can know that. The first two
draws are those that `few_labels.py` reports; all draws are the steadier figure.

Averages: ranks of the test rows by several methods, added up.

Mean ranks: each of ours among four rivals as users run them, and the best rival's mean rank.

Writes few_labels_bound.json, entries of the results file.
"""

from __future__ import annotations

import warnings

import numpy as np
from accuracy.few_labels import LABELS, NATURAL, drawn
from results import entry, write
from scipy.stats import rankdata
from shared.common import data_folder, load_set, machine, options, standardised
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer
from sklearn.svm import SVC

from fewlabels import S3VM

OURS = "S3VM with trees, labels only"
METHODS = {
    OURS: lambda n: S3VM(kernel="trees", C=1.0, C_star=0.0, balance=False),
    "extremely random trees": lambda n: ExtraTreesClassifier(300, random_state=0),
    "random forest": lambda n: RandomForestClassifier(300, random_state=0),
    "gradient boosting": lambda n: GradientBoostingClassifier(random_state=0),
    "logistic regression": lambda n: LogisticRegression(max_iter=1000),
    "logistic regression, C=.1": lambda n: LogisticRegression(C=0.1, max_iter=1000),
    "naive Bayes": lambda n: GaussianNB(var_smoothing=1e-2),
    "discriminant analysis": lambda n: LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    "neighbours": lambda n: KNeighborsClassifier(min(7, n // 2), weights="distance"),
    "SVC": lambda n: SVC(),
    "SVC of ranks": lambda n: make_pipeline(
        QuantileTransformer(n_quantiles=n, output_distribution="normal"), SVC()
    ),
}
RIVALS = [
    "extremely random trees", "random forest", "gradient boosting", "logistic regression",
]  # fmt: skip
AVERAGES = {
    "average of five methods": [
        OURS, "random forest", "gradient boosting", "discriminant analysis", "SVC",
    ],
}  # fmt: skip


def areas(X, y, n_labels, draw):
    """The area under the ROC curve of every method and average."""
    train, test, known = drawn(y, n_labels, draw, equal=False)
    A, B = standardised(X[train], X[test])
    score = {}
    for name, make in METHODS.items():
        model = make(n_labels).fit(A[known], y[train][known])
        decide = getattr(model, "decision_function", None)
        found = model.predict_proba(B)[:, 1] if decide is None else decide(B)
        score[name] = rankdata(np.nan_to_num(found))
    score |= {name: sum(score[one] for one in parts) for name, parts in AVERAGES.items()}
    return [roc_auc_score(y[test], one) for one in score.values()]


def known_best(found):
    """Areas, shape (sets, draws), where each draw takes the method that the others are best by.

    ``found`` has shape (sets, draws, methods).
    """
    others = found.sum(axis=1, keepdims=True) - found
    best = others.argmax(axis=2)[..., None]
    return np.take_along_axis(found, best, axis=2)[..., 0]


def ranks(own, rivals):
    """Mean rank of areas of shape (sets, draws) among rivals, and that of the best rival."""
    found = rankdata(-np.concatenate([own[..., None], rivals], axis=-1), axis=-1)
    mean_ranks = found.mean(axis=(0, 1))
    return float(mean_ranks[0]), float(mean_ranks[1:].min())


def main():
    parser = options(__doc__)
    parser.add_argument("--draws", type=int, default=8)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    folder, sets, counts = data_folder(args), NATURAL, LABELS["natural"]
    if args.quick:
        sets, args.draws = sets[:2], 2
    names = [*METHODS, *AVERAGES]
    found = np.empty((len(counts), len(sets), args.draws, len(names)))
    for place, name in enumerate(sets):
        X, y = load_set(folder, name)
        y = np.unique(y, return_inverse=True)[1].ravel()
        for k, n in enumerate(counts):
            for draw in range(args.draws):
                found[k, place, draw] = areas(X, y, n, draw)
        print(name, *(f"{value:.3f}" for value in found[:, place, :, 0].mean(axis=1)), flush=True)
    oracle = np.array([known_best(one[..., : len(METHODS)]) for one in found])
    rivals = found[..., [names.index(name) for name in RIVALS]]
    means = found.mean(axis=1)  # (counts, draws, methods)
    columns = [f"{n} labels, {which}" for n in counts for which in ("draws 1 and 2", "all draws")]
    both = [lambda values: values[:2].mean(), lambda values: values.mean()]
    rows = [
        [name, *(mean(means[k, :, j]) for k in range(len(counts)) for mean in both)]
        for j, name in enumerate(names)
    ]
    rows.append([
        "best method of each table, by its other draws",
        *(mean(oracle[k].mean(axis=0)) for k in range(len(counts)) for mean in both),
    ])  # fmt: skip
    ours = [(name, found[..., names.index(name)]) for name in (OURS, *AVERAGES)]
    ours.append((rows[-1][0], oracle))
    rank_rows = [
        [name, *(one for k in range(len(counts)) for one in ranks(own[k], rivals[k]))]
        for name, own in ours
    ]
    info = machine()
    about = {
        "label": "labels drawn at random",
        "program": "python benchmarks few_labels_bound",
        "hardware": f"{info['cores']} cores, {info['processor']}",
        "note": f"{len(sets)} tables, {args.draws} draws",
    }
    of_ranks = [f"{n} labels, {whose}" for n in counts for whose in ("rank", "first rival's")]
    entries = [
        entry("few-labels-bound", columns, rows, unit="ROC AUC",
              formats=[".3f"] * len(columns), **about),
        entry("few-labels-bound-ranks", of_ranks, rank_rows, unit="mean rank by ROC AUC, of five",
              formats=[".1f"] * len(of_ranks), **about),
    ]  # fmt: skip
    write(entries, args.out, "few_labels_bound", quick=args.quick)


if __name__ == "__main__":
    main()
