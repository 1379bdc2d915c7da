"""An honest comparison with what a sceptic would try instead."""

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_consistent_length

from ..tuning.result import trim_of
from ..tuning.search import Search
from .few_labels import compare_few_labels
from .judge import differences_of, judged, width
from .one_class import compare_one_class
from .positive_unlabelled import compare_pu
from .result import BaselineComparison
from .run import Rows

_COLUMNS = ["name", "ours", "score", "low", "high", "seconds", "note"]
_MEASURES = {
    "classes": "accuracy on held-out labelled rows",
    "pu": "ROC AUC, held-out positives against held-out unlabelled rows",
    "one-class": "area under the ROC curve, held-out rows against known anomalies",
    "nothing": "none: without known anomalies detectors cannot be ranked",
}


def compare_with_baselines(
    estimator,
    X,
    y=None,
    *,
    known_other=None,
    class_names=None,
    time_budget=60,
    random_state=None,
    progress=False,
):
    """Compare an estimator, with its settings, with what a sceptic would try.

    Clones of the estimator and baselines of scikit-learn are fitted to the same rows of the same
    folds, and scored by what can be known without full labels:

    * ``S3VM``: accuracy on held-out labelled rows, the unlabelled ones kept in training. Against
      classifiers of the labels alone, self-training, label spreading, and the majority class.
    * ``PUSVM``, ``PUEnsemble``: ROC AUC of held-out positive against held-out unlabelled rows.
      It grows with the ROC AUC against negatives, so that no prior is needed to say which method
      is better. Against classifiers that take unlabelled rows for negatives.
    * ``SVDD``, ``OneClassSVM``, ``SVDDEnsemble``: the area of held-out rows against
      ``known_other``. Against an isolation forest, the distance to the 10th neighbour, the
      Mahalanobis distance and scikit-learn's OneClassSVM. Without known anomalies nothing can rank
      detectors: false alarms on held-out rows are reported, and where methods disagree.

    Differences are taken on the same folds; their errors are corrected for training sets that
    overlap (Nadeau & Bengio 2003), and are at least those between rows. A method is called better
    or worse only if the interval of its difference excludes zero; the 95 % confidence holds for
    all baselines at once (Bonferroni).

    Parameters
    ----------
    estimator : SVDD, OneClassSVM, SVDDEnsemble, PUSVM, PUEnsemble, S3VM, or Pipeline ending in one
        Or a machine of ``fewlabels.baselines``, which is compared with the other methods and with
        the machine of this library that has the same labels. Fitted or not; it is left as it is.
        Steps of a pipeline before the last are fitted anew to the training rows of each fold, and
        baselines stand behind them too. After ``tune``, a machine without labels leaves out rows
        in training as ``tune`` did.
    X : {array-like, sparse} of shape (n_samples, n_features) or DataFrame
        Rows, in comparable units unless the pipeline scales them.
    y : array-like of shape (n_samples,), default=None
        Labels as the estimator takes them.
    known_other : {array-like, sparse} of shape (n_other, n_features), default=None
        Rows known not to be normal, for machines without labels. Not trained on.
    class_names : sequence of str, default=None
        What to call the classes of an S3VM in words, in their order; None means by their
        labels.
    time_budget : float, default=60
        Seconds after which nothing more is begun, > 0.
    random_state : int, RandomState or None, default=None
        Seed of folds, samples and baselines; None means 0.
    progress : bool, default=False
        Show a progress bar on stderr.

    Returns
    -------
    BaselineComparison

    Notes
    -----
    The comparison ends early when further folds are unlikely to change which baselines
    are clearly better or worse (Lan, Simon & Halperin 1982). For rows of one class without known
    anomalies it ends when 1500 rows or all of them were held out.

    Ctrl-C ends the comparison and keeps the folds that are done. Beyond 4000 rows all methods
    see a sample of the rows. Settings that were chosen on the same labels favour the estimator
    a little; baselines have scikit-learn's defaults.

    References
    ----------
    Nadeau, C., Bengio, Y. (2003). Inference for the generalization error. Machine Learning 52.

    Lan, K. K. G., Simon, R., Halperin, M. (1982). Stochastically curtailed tests in long-term
    clinical trials. Communications in Statistics C 1.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels import SVDD
    >>> from fewlabels.model_selection import compare_with_baselines
    >>> rng = np.random.default_rng(0)
    >>> rows, odd = rng.normal(size=(100, 2)), rng.normal(3.0, 1.0, size=(20, 2))
    >>> found = compare_with_baselines(SVDD(gamma=0.5, C=0.1), rows, known_other=odd)
    >>> sorted(found.table.columns)
    ['high', 'low', 'name', 'note', 'ours', 'score', 'seconds']
    >>> found.outcome in ("better", "worse", "undecided")
    True
    """
    search = Search(time_budget, progress, random_state)
    rng = check_random_state(search.seed)
    is_pipeline = isinstance(estimator, Pipeline)
    machine = estimator[-1] if is_pipeline else estimator
    steps = estimator[:-1] if is_pipeline and len(estimator) > 1 else None
    _check(machine, X, y, known_other)
    X = _as_rows(X, steps, "X")
    rows = Rows(X, y, steps)
    agreement = disagreements = None
    if machine.learns_from == "normal":
        kind = "nothing" if known_other is None else "one-class"
        if known_other is not None:
            known_other = _as_rows(known_other, steps, "known_other")
        found, why_not, agreement, disagreements = compare_one_class(
            machine, rows, known_other, trim_of(machine), search, rng
        )
    elif machine.learns_from == "classes":
        kind = "classes"
        found, why_not = compare_few_labels(machine, rows, search, rng, class_names)
    else:
        kind = "pu"
        found, why_not = compare_pu(machine, rows, search, rng)
    return _result(kind, found, why_not, agreement, disagreements, search)


def _check(machine, X, y, known_other):
    name = type(machine).__name__
    without_labels = getattr(machine, "learns_from", "") == "normal"
    if not hasattr(machine, "learns_from"):
        raise ValueError(
            "compare_with_baselines knows SVDD, OneClassSVM, SVDDEnsemble, PUSVM, PUEnsemble and "
            "S3VM, the machines of fewlabels.baselines, and pipelines that end in one of them; it "
            f"was given {name}."
        )
    if getattr(machine, "kernel", None) == "precomputed":
        raise ValueError(
            "kernel='precomputed' gives kernel values in place of rows, and baselines need rows; "
            "pass rows and a kernel or a callable."
        )
    if without_labels:
        return
    if y is None:
        raise ValueError(f"{name} learns from labels; pass y, see help(fewlabels.{name}).")
    if known_other is not None:
        raise ValueError(
            f"known_other is for SVDD and OneClassSVM, and ensembles of SVDD; {name} learns from "
            "labels: give them in y."
        )
    check_consistent_length(X, y)


def _as_rows(X, steps, what):
    """Rows as numbers; what goes into a pipeline is left to it."""
    if steps is not None:
        return X if hasattr(X, "shape") else np.asarray(X)
    return check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name=what)


def _result(kind, found, why_not, agreement, disagreements, search):
    outcome, verdict, worse_than = "unknown", f"Nothing could be compared: {why_not}.", []
    differences = differences_of(["ours"], np.zeros(1), np.zeros(1), 1)
    offer = ""
    table, protocol = pd.DataFrame(columns=_COLUMNS), ""
    if found is not None:
        protocol, names = found.protocol, [found.methods[k].name for k in found.running]
        scored = bool(names) and kind != "nothing"
        table = _table(found, scored)
        if scored:
            differences = differences_of(
                names, found.mean, found.difference_error, len(found.folds)
            )
            accuracy = kind == "classes"
            outcome, verdict, worse_than = judged(
                differences,
                float(found.mean[0]),
                lambda value: (
                    f"{100.0 * value:.1f} %" if accuracy else f"{np.clip(value, 0.0, 1.0):.3f}"
                ),
            )
            clearly = differences["name"][differences["ahead"] & differences["clear"]]
            machines = {method.name: method.machine for method in found.methods}
            offer = next((machines[name] for name in clearly if machines[name]), "")
            verdict = f"{names[0]}: {verdict} {found.caution}".rstrip()
        elif names:
            verdict = _without_anomalies(agreement)
        else:
            verdict = f"Nothing could be compared before {search.stopped} ended it."
        left_out = [method.name for method in found.methods if method.name not in names]
        if left_out and names:
            protocol += f" Not compared: {', '.join(left_out)}."
    if found is not None and found.enough:
        protocol += f" No more folds were made, as {found.enough}."
    if search.stopped:
        protocol += f" It was ended early by {search.stopped}."
    folds, rows = (0, 0) if found is None else (len(found.folds), found.rows)
    return BaselineComparison(
        table, differences, _MEASURES[kind], verdict, outcome, worse_than, protocol,
        search.stopped, search.seconds, agreement, disagreements, offer, folds, rows,
    )  # fmt: skip


def _without_anomalies(agreement):
    """What can be said when nothing ranks the detectors."""
    others = agreement.iloc[1:]
    verdict = "Without known anomalies nothing tells which detector is better, so none is ranked"
    others = others.dropna()
    if others.empty:
        return f"{verdict}; no other one could be compared."
    nearest = others.loc[others["rank_correlation"].idxmax()]
    farthest = others.loc[others["rank_correlation"].idxmin()]
    return (
        f"{verdict}; ranks agree most with {nearest['name']} ({nearest['rank_correlation']:.2f}) "
        f"and least with {farthest['name']} ({farthest['rank_correlation']:.2f})."
    )


def _table(found, scored):
    """The table of a comparison, the best method first."""
    lines, half = [], width(len(found.folds))
    for place, method in enumerate(found.methods):
        note = found.failures[place] or found.notes.get(place, "")
        score = low = high = np.nan
        if place not in found.running:
            note = note or "not finished in time"
        elif scored:
            at = found.running.index(place)
            score, apart = found.mean[at], half * found.error[at]
            ends = score - apart, score + apart
            low, high = ends if found.ends is None else found.ends[at]
        seconds = np.mean(found.seconds[place]) if found.seconds[place] else np.nan
        lines.append([method.name, place == 0, score, low, high, seconds, note])
    table = pd.DataFrame(lines, columns=_COLUMNS)
    table = table.sort_values("score", ascending=False, ignore_index=True, kind="stable")
    shown = ["score", "low", "high"]
    return table.assign(**table[shown].astype(float).clip(0.0, 1.0))
