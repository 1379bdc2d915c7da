"""A model of one class over rows that are not in memory."""

import numpy as np

from ...training.calibration import draw_held_out
from ...training.elsewhere.place import refuse_no_numbers
from ...training.elsewhere.recipe import Recipe, solve_elsewhere
from ..rows import spread_over
from .places import check_possible, read_place


def fit_elsewhere(machine, place, callback=None, anomalies=None):
    """Fit a model of one class to the rows of a place, as its ``fit`` does to rows in memory.

    The rows are not held: the model cannot be updated. Nor does it take ``anomalies``.
    """
    if anomalies is not None:
        raise ValueError(
            f"{place.are} don't take confirmed anomalies (anomalies=...); pass {place.instead}, "
            "or fit without anomalies."
        )
    check_possible(machine, place)
    n, held_out = place.shape[0], _held_out(machine, place)
    moments, kernel = read_place(machine, place)
    formulation = machine._formulation(moments.n, moments.weight)
    recipe = Recipe.over(
        place, moments, kernel, formulation, moments.weight, moves=formulation.moves_with_rows
    )
    sample = recipe.gram(place.take(spread_over(place.shape[0])))
    ridge = formulation.ridge({"weight": np.array([moments.weight / moments.n])})
    tol, rtol = machine._tolerances(formulation, moments.weight, sample, float(np.mean(ridge)))
    found = solve_elsewhere(place, recipe, machine._settings(tol, rtol, callback))
    solution = machine._solution(
        found.X, place.numbers(found.ids), found.problem, found.result, recipe.shift,
        formulation.unit(moments.weight),
    )  # fmt: skip
    machine._hold(None)
    machine._keep(solution)
    machine._home = place.home
    machine._tell(found.result, tol, solution)
    machine.shape_fit_ = (n, place.shape[1])
    if held_out is not None:
        score = solution.function(held_out, n_jobs=machine.n_jobs)
        machine._calibrate(np.sort(solution.comparable(score)))
    return machine._with_threshold() if machine.target_fpr is not None else machine


def _held_out(machine, place):
    """The rows that are held out to calibrate, which take no part any more; None for none."""
    if machine.target_fpr is None:
        return None
    mask = draw_held_out(place.shape[0], machine.target_fpr, machine._seed())
    numbers = np.flatnonzero(mask)
    rows = place.take(numbers)
    refuse_no_numbers(rows, numbers.__getitem__)
    place.leave_out(mask)
    return rows
