"""One-class SVM on two larger sets: ours beside scikit-learn's, at the same settings.

    python benchmarks/one_class_peers.py --data FOLDER --limit 3600

  http   all 567 498 rows x 3 of ADBench's set, standardised; nu = 0.05, gamma = "scale"
  w8a    49 749 rows x 300 of 0 and 1; nu = 0.5, gamma = 1/300: LIBSVM's defaults

ThunderSVM's paper (Wen et al. 2018) has a one-class machine of w8a: 4.66 s on a P100, 16.5 s on 20
cores, LIBSVM 1493 s, quoted from memory. With which settings is not known here, so that seconds
beside these are no comparison; LIBSVM's defaults are taken. Both sides are fitted in processes of
their own, with the default number of threads (scikit-learn: one), after a fit to 3000 rows. The
objective 1/2 a'Ka, with sum(a) = nu n, is computed by one function for both. A fit that takes
longer than --limit is ended, and said to be.
"""

from common import ChildFailed, data_folder, in_child, load_set, options, standardised, timed
from one_class import objective

SETS = {"http": ("adbench_http", 0.05, "scale"), "w8a": ("w8a", 0.5, "auto")}


def rows_of(folder, name):
    X, _ = load_set(folder, SETS[name][0])
    return X if name == "w8a" else standardised(X)[0]


def fit(folder, name, ours, quick):
    """Seconds, objective and what a fit says of itself."""
    X, (_, nu, gamma) = rows_of(folder, name), SETS[name]
    if quick:
        X = X[:: len(X) // 3000]
    gamma = {"scale": 1.0 / (X.shape[1] * X.var()), "auto": 1.0 / X.shape[1]}[gamma]
    if ours:
        from fewlabels import OneClassSVM
    else:
        from sklearn.svm import OneClassSVM
    settings = {"nu": nu, "gamma": gamma, "cache_size": 1000}
    OneClassSVM(**settings).fit(X[: len(X) // 2][:3000])
    seconds, machine = timed(OneClassSVM(**settings).fit, X)
    coef = machine.dual_coef_.ravel()
    value = objective(machine.support_vectors_, coef, gamma)
    told = f"{seconds:.1f} s, objective {value:.10g}, {len(coef)} support vectors"
    if ours:
        told += f", gap {machine.duality_gap_:.1e}"
        told += "" if machine.fit_status_ == 0 else ", the tolerance was NOT reached"
    return seconds, value, f"{len(X)} x {X.shape[1]} rows, {told}"


def main():
    parser = options(__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds for one fit")
    args = parser.parse_args()
    folder = data_folder(args, [SETS[name][0] for name in args.sets])
    for name in args.sets:
        found = []
        for ours in (True, False):
            side = "fewlabels" if ours else "scikit-learn"
            try:
                *figures, told = in_child(fit, folder, name, ours, args.quick, limit=args.limit)
                found.append(figures)
            except ChildFailed as error:
                told = f"given up: {error}"
            print(f"{name}, {side}: {told}", flush=True)
        if len(found) == 2:
            (mine, value), (theirs, other) = found
            print(
                f"{name}: {theirs / mine:.1f} times as fast, objectives {value / other - 1.0:+.1e}"
                " apart",
                flush=True,
            )


if __name__ == "__main__":
    main()
