"""Training rows that a model of one class flags by its own boundary, and a warning of many.

The boundary isn't a false alarm rate. A bound on the share of rows outside follows from ``nu``, or
from C with linear slack; with squared slack there is none, and most rows may be outside.
"""

from typing import Any, cast

from .._util.messages import ref
from .._util.warn import warn
from ..base.locking import lock_of
from ..rows.memory import MemorySource
from ..rows.source import RowSource
from ..rows.spec import SolvedProblem
from .problem import OneClassFormulation

#: Name of the share among a model's late values.
SHARE_OUTSIDE = "rows outside"
# The share that needs no warning where nothing bounds it.
_USUAL_SHARE = 0.1
# What a share may exceed its bound by, as a factor or in itself: boundary rows are within a
# tolerance.
_BOUND_FACTOR = 1.5
_BOUND_MARGIN = 0.02


def measure_share_outside(
    rows: RowSource, formulation: OneClassFormulation, solved: SolvedProblem, rounding: float
) -> tuple[float, float]:
    """Return the share of normal training rows outside the boundary, and the bound on it.

    The solver's gradient holds their scores, so no kernel value is computed.

    Parameters
    ----------
    rows : RowSource
        The rows of the fit.
    formulation : OneClassFormulation
        The model's problem.
    solved : SolvedProblem
        Its solution.
    rounding : float
        The distance from the boundary, in scores, that counts as on it.

    Returns
    -------
    tuple of float
        The share, by weight where rows are in memory, and its bound; 0 for no bound.
    """
    problem, result = solved.problem, solved.result
    own = result.gradient - problem.ridge * result.a + problem.penalty.slopes[0]
    unit = formulation.unit(rows.mass)
    is_outside = unit * (own - result.multiplier) < -rounding
    bound = formulation.min_support(rows.mass)
    if not rows.is_in_memory:  # only support vectors are here, and they are normal
        return float(is_outside.sum() / rows.n_counting), float(bound)
    masses = formulation.masses(cast(MemorySource, rows).numbers)
    return float(masses[is_outside].sum() / rows.mass), float(bound)


def warn_of_rows_outside(model: Any) -> None:
    """Warn, once after a fit, if the boundary leaves out many more rows than were asked for."""
    with lock_of(model):
        late, version = model._cache, model._version
        found = None if late is None else late.peek(SHARE_OUTSIDE, version)
        if found is None:
            return
        late.store(SHARE_OUTSIDE, version, None)
    share, bound = found
    if share <= (max(_BOUND_FACTOR * bound, bound + _BOUND_MARGIN) if bound else _USUAL_SHARE):
        return
    allowed = f" ({ref(model.cost_name)} allows {100 * bound:.3g} %)" if bound else ""
    warn(
        f"{type(model).__name__} flags {100 * share:.3g} % of its training rows{allowed}, because "
        f"its boundary isn't set for a false alarm rate. Pass {ref('target_fpr', 0.05)} to flag "
        "about 5 % of new normal rows; scores rank rows either way.",
        UserWarning,
    )
