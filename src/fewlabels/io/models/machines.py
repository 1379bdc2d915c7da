"""The models that model files may hold. A new one is an entry here."""

import sys
from importlib import import_module
from typing import NamedTuple

# Plain data that skops can hold but does not know to be harmless.
_DATA = ["scipy.sparse._csr.csr_array", "scipy.sparse._csr.csr_matrix", "numpy.dtype"]
# Parts of this package whose classes are what machines and their values are made of.
_PARTS = ("baselines", "estimators", "fitted", "io.encoding", "kernels", "problem", "streams")


class Machine(NamedTuple):
    """A model by its name on the command line; models hold their rows where ``keeps_rows``.

    ``learns_from`` is "normal" (rows of one class), "positive" (positive and unlabelled ones) or
    "classes" (two or more classes and unlabelled ones). ``is_baseline``: whether it is a simple
    method, the name of which is the estimator's ``method``.
    """

    estimator: str
    learns_from: str
    title: str
    keeps_rows: bool = False
    is_baseline: bool = False


def _baseline(learns_from, title):
    estimators = {"normal": "OneClassBaseline", "positive": "PUBaseline"}
    estimator = estimators.get(learns_from, "FewLabelsBaseline")
    return Machine(estimator, learns_from, title, is_baseline=True)


MACHINES = {
    "svdd": Machine("SVDD", "normal", "support vector data description (SVDD)"),
    "svdd-ensemble": Machine("SVDDEnsemble", "normal", "ensemble of small SVDD models"),
    "one-class": Machine("OneClassSVM", "normal", "one-class support vector machine"),
    "pusvm": Machine(
        "PUSVM", "positive", "support vector machine for positive and unlabelled rows"
    ),
    "pu-ensemble": Machine("PUEnsemble", "positive", "ensemble for positive and unlabelled rows"),
    "s3vm": Machine("S3VM", "classes", "semi-supervised support vector machine", keeps_rows=True),
    "isolation-forest": _baseline("normal", "isolation forest"),
    "neighbours": _baseline("normal", "distance to the 10th neighbour"),
    "root-neighbours": _baseline("normal", "distance to the root-n-th neighbour"),
    "mahalanobis": _baseline("normal", "Mahalanobis distance"),
    "forest": _baseline("positive", "tuned forest, unlabelled as negative"),
    "random-forest": _baseline("positive", "random forest, unlabelled as negative"),
    "pu-logistic": _baseline("positive", "logistic regression, unlabelled as negative"),
    "pu-svm": _baseline("positive", "SVM, unlabelled as negative"),
    "logistic": _baseline("classes", "logistic regression, labels only"),
    "svm": _baseline("classes", "SVM, labels only"),
    "extra-trees": _baseline("classes", "extremely random trees, labels only"),
    "self-training": _baseline("classes", "self-training"),
    "spreading": _baseline("classes", "label spreading, nearest neighbours"),
    "tuned-spreading": _baseline("classes", "label spreading, best of several graphs"),
}


def machines_from(*learns_from):
    return [
        name for name, machine in MACHINES.items()
        if machine.learns_from in learns_from and not machine.is_baseline
    ]  # fmt: skip


def own_machines():
    """Models that are no simple methods."""
    return [name for name, machine in MACHINES.items() if not machine.is_baseline]


def no_signal(training):
    """The headline of a training whose columns do not tell its labels; None for any other."""
    return (training.get("signal") or {}).get("headline")


def cautions(training):
    """What to say of a training before anything else: sentences without their full stops."""
    signal = training.get("signal") or {}
    labels = training.get("labels_at_random") or {}
    told = (
        training.get("prior_contradiction"), signal.get("headline"), labels.get("caution"),
        signal.get("caution"),
    )  # fmt: skip
    return [sentence for sentence in told if sentence]


def machine_class(name):
    machine = MACHINES[name]
    part = "baselines" if machine.is_baseline else "estimators"
    package = __name__.partition(".")[0]
    return getattr(import_module(f"{package}.{part}"), machine.estimator)


def trusted_types():
    """Types that a model file may hold besides those skops trusts; made without being called."""
    from .. import encoding

    for part in (".rare", ".texts", ".truth"):
        import_module(part, encoding.__name__)
    package = __name__.partition(".")[0]
    for name in MACHINES:
        machine_class(name)  # and with it what it is made of
    parts = tuple(f"{package}.{part}." for part in _PARTS)
    return _DATA + [
        f"{name}.{value.__qualname__}"
        for name, module in list(sys.modules.items())
        if name.startswith(parts)
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == name
    ]


def added_columns(machine):
    """Names of the columns that may be added to a table that is scored."""
    more = {"normal": ["p_value"], "positive": ["positive", "probability"]}
    return ["score", "label", *more.get(MACHINES[machine].learns_from, ["probability"])]
