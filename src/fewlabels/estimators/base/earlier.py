"""States of models that earlier versions saved, in the form that models have now.

Before there were values, a model kept what it had found in many attributes, and its rows as a
dict. Pickles and model files of formats 1 to 4 hold these.
"""

import json
from dataclasses import fields

import numpy as np

from ...fitted import (
    Curve,
    Function,
    Late,
    OneClassSolution,
    PUEnsembleFit,
    PUSVMFit,
    Solution,
    TwoSidedCurve,
)
from ...fitted.solution import ROUNDING, Certificate, edges_of_scores
from ...kernels import make_kernel
from ...problem.one_class import LinearSlackBall, OneClass, SquaredSlackBall
from ...problem.positive_unlabelled import DoubleHinge
from ...streams.classes import ClassStreams  # noqa: F401 - model files name it
from ...streams.convex import ConvexStream
from ...streams.positive_unlabelled import PUStream
from ...streams.rows import HeldRows
from ...streams.semi_supervised import S3VMStream

# Attributes that machines still have, besides their parameters.
_KEPT = (
    "n_features_in_ feature_names_in_ shape_fit_ gamma_ classes_ tuning_ _sklearn_version "
    "prior_ prior_interval_ gammas_ prices_ auc_ weights_"
).split()


def upgraded(kind, state):
    """Attributes from a pickle or a model file, as models of this class have them now."""
    # With the parameters that did not exist then.
    state = {**{field.name: field.default for field in fields(kind)}, **state}
    if "_late" in state or "dual_coef_" not in state:
        return state
    stream = state.get("_stream")
    if stream is not None and "support_vectors_" not in state:  # files held no row twice
        vectors, history = stream["X"][state["support_"]], json.loads(stream["history"])
        state = {**state, "support_vectors_": vectors, "history_": history}
    names = (cls.__name__ for cls in kind.__mro__)
    return next(_UPGRADES[name] for name in names if name in _UPGRADES)(state)


def still_there(state):
    """What of an earlier state is as it was: parameters, and some attributes."""
    return {
        name: value
        for name, value in state.items()
        if name in _KEPT or not (name.startswith("_") or name.endswith("_"))
    }


def function_before(state, coef, **options):
    """The ``Function`` of an earlier state, with coefficients of shape (n_kernels, m)."""
    options.setdefault("kernels", (kernel_before(state),))
    if "_bias" in state:
        options |= {"bias": float(state["_bias"]), "weights": state.get("_weights")}
        options["rounding"] = ROUNDING * state["_decision_size"]
    is_matrix = options["kernels"][0].is_matrix
    float64 = state.get("_float64")
    return Function(
        vectors=state["support_vectors_"],
        coef=coef,
        shift=state.get("_shift"),
        center=state.get("_center"),
        float64=None if float64 is None else bool(float64),
        columns=state["support_"] if is_matrix else None,
        **options,
    )


def kernel_before(state):
    """The kernel of an earlier state."""
    return make_kernel(state["kernel"], state["gamma_"], state["degree"], state["coef0"])


def solution_before(state):
    """The part of a ``Solution`` that was the same for all models."""
    return {
        "support": state["support_"],
        "n_support": state["n_support_"],
        "n_iter": state["n_iter_"],
        "history": state["history_"],
        "converged": state["fit_status_"] == 0,
        "objective": state.get("objective_", np.nan),
        "duality_gap": state.get("duality_gap_", np.inf),
    }


def curve_before(state):
    """The late value that an earlier state had in ``_curve``, if any."""
    curve = state.get("_curve") or {}
    if "slope" not in curve:
        return {}
    kind = curve.get("kind", state["probability"])
    parts = {name: curve[name] for name in ("slope", "intercept", "knots", "values")}
    return {f"{kind} curve": (0, Curve(**parts, kind=kind))}


def stream_before(state, stream, formulation, solution, rows, variables):
    """A ``ConvexStream`` or a PUStream over the rows that were held, where the model stood."""
    held, there = state["_stream"], state["support_"] >= 0
    X, a = held["X"], np.zeros(held["X"].shape[0])
    a[state["support_"][there]] = variables[there]
    weight = np.ones(X.shape[0]) if held["weight"] is None else held["weight"]
    if "calibrates" in rows:  # these weighed nothing
        weight = np.where(rows["calibrates"], 1.0, weight)
    function = solution.function
    return stream(
        formulation,
        function.kernel,
        HeldRows(X, weight=weight, **rows),
        (a, held["multiplier"]),
        shift=function.shift,
        n_steps=solution.n_iter,
        history=solution.history,
    )


# -- machines of one class -----------------------------------------------------------------------


def _ball(state):
    coef, kernel, radius = state["dual_coef_"], kernel_before(state), state["radius_"]
    boundary, center_norm = -(radius**2), state["_center_norm"]
    options = {"self_weight": 1.0, "bias": -center_norm, "diagonal": state.get("_diagonal_value")}
    if kernel.is_similarity:
        boundary, options = 1.0 + center_norm + boundary, {}
    parameters = (state.get("_stream") or {}).get("parameters", state)
    formulation = SquaredSlackBall(float(parameters["C"]))
    if parameters["slack"] == "linear":
        formulation = LinearSlackBall(float(parameters["C"]), nu=parameters["nu"])
    return _one_class(
        state, kernel, 2.0 * coef, boundary, formulation, coef[0], 1.0, options, radius=radius
    )


def _one_class_svm(state):
    coef = state["dual_coef_"]
    coef = coef if isinstance(coef, np.ndarray) else coef.toarray()
    boundary = float(state.get("_own", (state["offset_"],))[0][0])
    scale = float(coef.sum())
    parameters = (state.get("_stream") or {}).get("parameters", state)
    formulation = OneClass(float(parameters["nu"]))
    kernel = kernel_before(state)
    return _one_class(state, kernel, coef, boundary, formulation, coef[0] / scale, scale, {})


def _one_class(state, kernel, coef, boundary, formulation, variables, scale, options, **more):
    size, stream = state["_decision_size"], state.get("_stream")
    # Scores stay what they were.
    edges = {**edges_of_scores(kernel, size, boundary, coef), "tail": 0.0}
    function = function_before(state, coef, **edges, **options)
    own = state.get("_own", (None, state["intercept_"]))
    solution = OneClassSolution(
        **solution_before(state),
        function=function,
        intercept=float(own[1][0]),
        scale=scale,
        size=size,
        rate=None if state.get("_cut") is None else state["target_fpr"],
        **more,
    )
    values = {"solution": (0, solution)}
    scores = state.get("calibration_scores_", state.get("_scores_before"))
    if scores is not None:
        values["conformal"] = (0, solution.calibrated(scores))
    new = {**still_there(state), "_late": Late(values), "_stream": None}
    if stream is not None:
        rows = {k: v for k, v in stream.items() if k == "calibrates"}
        new["_fixed"] = stream["parameters"]
        new["_stream"] = stream_before(state, ConvexStream, formulation, solution, rows, variables)
    return new


# -- machines of positive and unlabelled rows ----------------------------------------------------


def _pu_fit(state, **options):
    """What the two have in common: arguments of their solutions."""
    function = function_before(state, state["dual_coef_"], **options)
    is_positive = np.asarray(state["transduction_"] == state["classes_"][1])
    return {**solution_before(state), "function": function, "is_positive": is_positive}


def _pu_svm(state):
    held_out = None
    curve, stream, values = state.get("_curve"), state.get("_stream"), curve_before(state)
    if curve and not values:
        names = ("positive", "unlabeled")
        held_out = tuple((curve[name], curve[f"{name}_weight"]) for name in names)
    solution = PUSVMFit(
        **_pu_fit(state),
        lam=state["lam_"],
        risk_intercept=state["risk_intercept_"],
        objectives=state["objectives_"],
        held_out=held_out,
    )
    late = Late({"solution": (0, solution), **values})
    new = {**still_there(state), "_late": late, "_stream": None}
    if stream is not None:
        follows = stream["parameters"]["lam"] == "auto"
        formulation = DoubleHinge(state["prior_"], solution.lam, follows=follows)
        rows, variables = {"positive": stream["positive"]}, -state["dual_coef_"][0]
        new["_fixed"] = stream["parameters"]
        new["_stream"] = stream_before(state, PUStream, formulation, solution, rows, variables)
    return new


def _pu_ensemble(state):
    gammas, degree, coef0 = state["gammas_"], state["degree"], state["coef0"]
    kernels = tuple(make_kernel(state["kernel"], gamma, degree, coef0) for gamma in gammas)
    curve = TwoSidedCurve(state["_spread"], state["_slopes"])
    solution = PUEnsembleFit(**_pu_fit(state, kernels=kernels), curve=curve)
    return {**still_there(state), "_late": Late({"solution": (0, solution)})}


# -- two classes and unlabelled rows -------------------------------------------------------------


def _s3vm(state):
    function = function_before(state, state["dual_coef_"])
    positive = state["transduction_"] == state["classes_"][1]
    certificate = Certificate(state["objective_"], state["kkt_violation_"], positive)
    solution = Solution(**solution_before(state), function=function)
    values = {"solution": (0, solution), "certificate": (0, certificate)}
    values |= curve_before(state)
    kept = "objectives_ n_nodes_ _lower_bound _kept".split()
    new = {**still_there(state), **{name: state[name] for name in kept if name in state}}
    new |= {"_late": Late(values), "_stream": None, "_shape": new.pop("shape_fit_")}
    stream = state.get("_stream")
    if stream is not None:
        names = ("C", "C_star", "balance", "balance_update")
        parameters = {name: stream["parameters"][name] for name in names}
        new["_fixed"] = stream["parameters"]
        new["_stream"] = held = S3VMStream.__new__(S3VMStream)
        held.__setstate__(
            {
                **stream,
                "kernel": function.kernel,
                "shift": function.shift,
                "done": True,
                "version": 0,
                "parameters": {**parameters, "cache_size": 200e6, "n_jobs": 1},
            }
        )
    return new


_UPGRADES = {
    "SVDD": _ball,
    "OneClassSVM": _one_class_svm,
    "PUSVM": _pu_svm,
    "PUEnsemble": _pu_ensemble,
    "S3VM": _s3vm,
}
