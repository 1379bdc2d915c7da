"""Text, images and manifolds: S3VM with the kernel that the labels choose, and rivals.

graph: official splits, errors on the unlabelled rows in %. spreading: label spreading over ten
neighbours. SVC: of the labels, the kernel of S3VM(). chosen: S3VM with the kernel that labels
left out and the models' agreement choose, all else default (--tune: what tune chooses in 60 s a
split). hindsight: the best SVC of the labels over a grid of graphs, by the labels of the test
rows. With --fresh SEED, labelled rows are drawn at random, as many as in the official splits.
Where a class has fewer than eight labels, the rule was chosen on ten labels of other sets. For the
other lines it was chosen with the sets marked "in sight".

classes: uspst, ten classes, 50 labels, the official splits (Chapelle and Zien 2005), and mini
newsgroups, 20 classes, 5 random labels of each, TF-IDF (sublinear), linear kernel. Errors on the
unlabelled rows. Settings are defaults on both sides, but for the cost of the SVM of the labels, 10
as S3VM's, and the number of neighbours, 5 and 10. "manifold" is S3VM's kernel of that name.
"""

from __future__ import annotations

import time
from functools import lru_cache

import numpy as np
import scipy.sparse as sp
from shared.common import group, markdown_table, mean
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC
from study import Case, Setting, Study

from fewlabels import S3VM, tune
from fewlabels.kernels import Manifold
from fewlabels.kernels.parameters import distance_gamma
from fewlabels.model_selection.semi_supervised.graph import choose_graph
from fewlabels.model_selection.tuning.search import Search

# Name, file, key of the labelled rows; and whether the choice was made with the set in sight.
SETS = {
    "USPS, 100": ("ssl_usps", "idx_labeled_100", True),
    "USPS, 10": ("ssl_usps", "idx_labeled_10", False),
    "Text, 100": ("ssl_text", "idx_labeled_100", True),
    "Text, 10": ("ssl_text", "idx_labeled_10", False),
    "COIL2, 100": ("ssl_coil2", "idx_labeled_100", True),
    "COIL2, 10": ("ssl_coil2", "idx_labeled_10", False),
    "g50c, 50": ("chapelle_g50c", "idx_labeled", True),
    "Text of Chapelle and Zien, 50": ("chapelle_text", "idx_labeled", True),
    "uspst, ten classes, 50": ("chapelle_uspst", "idx_labeled", False),
}
STRENGTHS, NEIGHBORS = (1.0, 10.0, 100.0, 1000.0, 1e5), (5, 10)
LABELS = 5
N_SPLITS = {"ssl_usps": 12, "ssl_text": 12, "ssl_coil2": 12}  # of the others 10


@lru_cache(maxsize=1)
def read(folder, file, key):
    """Rows, labels and the labelled rows of every split."""
    if (folder / f"{file}_X.npz").is_file():
        X = sp.csr_array(sp.load_npz(folder / f"{file}_X.npz")).astype(float)
        values = np.load(folder / f"{file}_y.npz")
    else:
        values = np.load(folder / f"{file}.npz")
        X = values["X"].astype(float)
    return X, values["y"], values[key]


def drawn(y, splits, seed):
    """As many splits, of labelled rows drawn at random, at least one of each class."""
    rng, classes, found = np.random.default_rng(seed), np.unique(y), []
    while len(found) < len(splits):
        rows = rng.choice(len(y), len(splits[0]), replace=False)
        if len(np.unique(y[rows])) == len(classes):
            found.append(rows)
    return found


# -- kernels that know the graph of all rows -----------------------------------------------------


def measure_graph(folder, name, split, fresh, tuned):
    """Errors in % on the rows without a label, the kernel chosen, and seconds of the choice."""
    file, key, in_sight = SETS[name]
    X, y, splits = read(folder, file, key)
    labelled = (splits if fresh is None else drawn(y, splits, fresh))[split]
    code = np.unique(y, return_inverse=True)[1]
    free = np.setdiff1d(np.arange(len(y)), labelled)
    given = np.full(len(y), np.nan)
    given[labelled] = code[labelled]

    def error(predicted):
        return 100.0 * float(np.mean(predicted != code[free]))

    gamma = distance_gamma(X)
    spreading = LabelSpreading(kernel="knn", n_neighbors=10, alpha=0.9, max_iter=200)
    spreading.fit(X, np.where(np.isnan(given), -1, given).astype(int))
    plain = S3VM().fit(X, given)
    started = time.perf_counter()
    if tuned:
        chosen = tune(S3VM(), X, given)
        kernel = chosen.tuning_.chosen.get("kernel", "rbf")
    else:
        kernel = choose_graph(S3VM(), X, given, None, Search(600, False, 0))[0] or "rbf"
        chosen = plain if kernel == "rbf" else S3VM(kernel=kernel).fit(X, given)
    seconds = time.perf_counter() - started
    alone = []
    for r, n_neighbors in [(0.0, 1), *((r, k) for r in STRENGTHS for k in NEIGHBORS)]:
        graph = Manifold(r=r, n_neighbors=n_neighbors).with_rows(X, gamma=gamma)
        values = graph.values(X, X[labelled])
        svc = SVC(C=10.0, kernel="precomputed").fit(values[labelled], code[labelled])
        alone.append(error(svc.predict(values[free])))
    return {
        "spreading": error(spreading.transduction_[free]), "SVC": alone[0],
        "S3VM()": error(plain.predict(X)[free]), "chosen": error(chosen.predict(X)[free]),
        "hindsight": min(alone), "kernel": str(kernel), "seconds": seconds,
        "in_sight": in_sight,
    }  # fmt: skip


# -- several classes -----------------------------------------------------------------------------


def digits(folder, draw):
    """Rows, classes and the labelled rows of an official split."""
    data = np.load(folder / "chapelle_uspst.npz", allow_pickle=False)
    return data["X"].astype(float), data["y"], np.ravel(data["idx_labeled"][draw])


def newsgroups(folder, draw):
    """TF-IDF of posts, groups, and random labelled rows of each."""
    X = sp.csr_array(sp.load_npz(folder / "mini_newsgroups_X.npz"), dtype=float)
    y = np.load(folder / "mini_newsgroups_y.npz", allow_pickle=False)["y"]
    X = sp.csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(X))
    rng = np.random.default_rng(draw)
    labelled = [rng.choice(np.flatnonzero(y == k), LABELS, replace=False) for k in np.unique(y)]
    return X, y, np.concatenate(labelled)


SEVERAL = {"uspst": (digits, "rbf"), "newsgroups": (newsgroups, "linear")}
METHODS = {
    "S3VM": lambda kernel: S3VM(kernel=kernel),
    "S3VM, not annealed": lambda kernel: S3VM(kernel=kernel, annealing=False),
    "S3VM, manifold": lambda kernel: S3VM(kernel="manifold"),
    "SVM of the labels": lambda kernel: SVC(C=10.0, kernel=kernel),
    "self-training": lambda kernel: SelfTrainingClassifier(LogisticRegression(max_iter=1000)),
    "label spreading, 5 neighbours": lambda kernel: LabelSpreading(kernel="knn", n_neighbors=5),
    "label spreading, 10 neighbours": lambda kernel: LabelSpreading(kernel="knn", n_neighbors=10),
}


def measure_classes(folder, name, draw, method):
    """Error in % on the unlabelled rows, and CPU seconds."""
    load, kernel = SEVERAL[name]
    X, y, labelled = load(folder, draw)
    free = np.setdiff1d(np.arange(len(y)), labelled)
    given = np.full(len(y), -1)
    given[labelled] = y[labelled]
    rows = labelled if method == "SVM of the labels" else slice(None)
    started = time.process_time()
    model = METHODS[method](kernel).fit(X[rows], given[rows])
    labels = getattr(model, "transduction_", None)
    # Self-training leaves rows that it isn't sure of without a class there.
    in_place = labels is not None and len(labels) == len(y) and min(labels) >= 0
    found = labels[free] if in_place else model.predict(X[free])
    return {"error": 100 * float(np.mean(found != y[free])),
            "seconds": time.process_time() - started}  # fmt: skip


# -- cases and report ----------------------------------------------------------------------------


def cases(options):
    for name in options.sets:
        if name in SETS and "graph" in options.parts:
            for split in range(min(options.splits, N_SPLITS.get(SETS[name][0], 10))):
                key = {"part": "graph", "set": name, "split": split, "fresh": options.fresh}
                yield Case(key, measure_graph,
                           (options.data, name, split, options.fresh, options.tune))  # fmt: skip
        if name in SEVERAL and "classes" in options.parts:
            for split in range(min(options.splits, 3)):
                for method in METHODS:
                    if name == "uspst" or "manifold" not in method:
                        key = {"part": "classes", "set": name, "split": split, "method": method}
                        yield Case(key, measure_classes, (options.data, name, split, method))


def report(results):
    if found := results.where(part="graph"):
        columns = ["spreading", "SVC", "S3VM()", "chosen", "hindsight"]
        rows = []
        for name, some in group(found, "set").items():
            graphs = f"{sum(r['kernel'] != 'rbf' for r in some)} of {len(some)}"
            mark = " (in sight)" if some[0]["in_sight"] else ""
            means = [f"{mean(some, column):.1f}" for column in columns]
            rows.append([f"{name}{mark}", len(some), graphs, *means])
        yield "## Kernels that know the graph of all rows, errors in %"
        yield markdown_table(["set", "splits", "graph chosen", *columns], rows)


def entries(results):
    found, rows = results.where(part="classes"), []
    for name, some in group(found, "set").items():
        means = {method: mean(one, "error") for method, one in group(some, "method").items()}
        *cells, five, ten = (means.get(method) for method in METHODS)
        rows.append([name, *cells, None if five is None else f"{five:.1f} / {ten:.1f}"])
    columns = ["S3VM", "not annealed", "manifold (r = 100)", "SVM of the labels",
               "self-training", "spreading, 5 / 10 neighbours"]  # fmt: skip
    return [results.entry("several-classes", columns, rows, label="set", unit="error in %",
                          formats=[".1f"] * 5 + [""])] if rows else []  # fmt: skip


STUDY = Study(
    __doc__, cases, report, entries, data="required",
    choices={"parts": ["graph", "classes"], "sets": [*SETS, *SEVERAL]},
    settings={
        "splits": Setting(12, "splits of a set, at most"),
        "fresh": Setting(None, "seed of labelled rows drawn at random", int),
        "tune": Setting(False, "choose all settings by tune"),
    },
    quick={"parts": ["graph"], "sets": ["g50c, 50"], "splits": 1},
)  # fmt: skip
