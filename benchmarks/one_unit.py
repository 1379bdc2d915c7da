"""Columns of one unit: as they are, or each standardised by itself?

    python benchmarks/one_unit.py --data FOLDER [--sets NAME ...] [--quick]

Up to 3000 random rows of each set, half for training. S3VM: error in % on the other rows of 1200,
60 random labels, mean of three draws. One class: area of SVDDEnsemble, trained on the rows of one
class. PU: area of PUEnsemble, 60 positives, the true prior. Each on the columns as they are and
standardised (sparse ones by their largest value), as `fewlabels fit --no-scale` and `--scale` do.
IN_SIGHT are the sets that the rule of `common_unit` was made on; the others show it.

Writes one_unit.md and one_unit.json.
"""

import warnings

import numpy as np
import scipy.sparse as sp
from common import data_folder, machine, markdown_table, options, write_json, write_text
from manifold import read
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from fewlabels import S3VM, PUEnsemble, SVDDEnsemble
from fewlabels.data.units import common_unit

IN_SIGHT = [
    "usps", "mnist", "chapelle_text", "ssl_text", "mushrooms", "phishing", "a9a", "w8a",
    "house_votes", "ionosphere",
]  # fmt: skip
SHOWN = [
    "chapelle_uspst", "usmo_krvskp", "usmo_australian", "usmo_clean1", "usmo_diabetes",
    "usmo_heart", "usmo_heart_statlog", "usmo_house", "usmo_liverdisorders", "usmo_spectf",
    "adbench_breastw", "adbench_wbc",
]  # fmt: skip
MEASURES = ("S3VM, error %", "one class, area", "PU, area")


def measured(X, scaled, own, seed):
    """The three measures, on columns as they are and scaled."""
    found, half = {}, len(own) // 2
    few, errors = min(1200, len(own)), ([], [])
    for draw in range(3):
        rng = np.random.default_rng([seed, draw])
        given = np.full(few, np.nan)
        while not 4 <= np.nansum(given) <= 56:
            labelled = rng.choice(few, 60, replace=False)
            given[:] = np.nan
            given[labelled] = own[labelled]
        free = np.isnan(given)
        for rows, kept in zip((X, scaled), errors, strict=True):
            called = S3VM().fit(rows[:few], given).predict(rows[:few])
            kept.append(100.0 * np.mean(called[free] != own[:few][free]))
    found[MEASURES[0]] = [float(np.mean(each)) for each in errors]
    test, truth = slice(half, None), own[half:]
    normal = np.flatnonzero(own[:half])
    marks = np.zeros(half)
    marks[normal[:60]] = 1
    prior = float(own[:half][marks == 0].mean())
    areas = ([], [])
    for rows, kept in zip((X, scaled), areas, strict=True):
        one = SVDDEnsemble(random_state=seed).fit(rows[normal])
        kept.append(roc_auc_score(truth, one.score_samples(rows[test])))
        pile = PUEnsemble(prior=prior, random_state=seed).fit(rows[:half], marks)
        kept.append(roc_auc_score(truth, pile.decision_function(rows[test])))
    for k, name in enumerate(MEASURES[1:]):
        found[name] = [float(kept[k]) for kept in areas]
    return found


def of_set(folder, name, n_rows):
    X, y, _ = read(folder, name, "y")
    order = np.random.default_rng(1).permutation(X.shape[0])[:n_rows]
    X, y = X[order], y[order]
    values, counts = np.unique(y, return_counts=True)
    scaler = MaxAbsScaler() if sp.issparse(X) else StandardScaler()
    scaled = scaler.fit(X[: len(y) // 2]).transform(X)
    found = measured(X, scaled, y == values[np.argmax(counts)], 0)
    return {"set": name, "in sight": name in IN_SIGHT, "seen": common_unit(X), **found}


def main():
    parser = options(__doc__)
    parser.add_argument("--sets", nargs="+", default=[*IN_SIGHT, *SHOWN])
    args = parser.parse_args()
    if args.quick:
        args.sets = ["usmo_house"]
    folder, records = data_folder(args), []
    warnings.simplefilter("ignore")
    for name in args.sets:
        records.append(of_set(folder, name, 3000))
        print(records[-1], flush=True)
    head = ["", *(f"{name}: as they are, standardised" for name in MEASURES)]
    lines = []
    groups = [("mean, in sight", True), ("mean, the others", False)]
    for record in records:
        lines.append([record["set"], *(record[name] for name in MEASURES)])
    for title, seen in groups:
        part = [record for record in records if record["in sight"] is seen]
        if part:
            means = [np.mean([record[name] for record in part], axis=0) for name in MEASURES]
            lines.append([title, *means])
    digits = (1, 3, 3)
    table = [
        [
            name,
            *(
                ", ".join(f"{v:.{d}f}" for v in pair)
                for d, pair in zip(digits, pairs, strict=True)
            ),
        ]
        for name, *pairs in lines
    ]
    text = f"# Columns of one unit\n\n{markdown_table(head, table)}\n"
    write_json(args.out / "one_unit.json", {"machine": machine(), "records": records})
    write_text(args.out / "one_unit.md", text)
    print(text)


if __name__ == "__main__":
    main()
