"""A machine of one class over rows that are not in memory."""

import numpy as np

from ...training.calibration import draw_held_out
from ...training.elsewhere.recipe import Recipe, solve_elsewhere
from .places import check_possible, read_place


def fit_elsewhere(machine, place, callback=None):
    """Fit a machine of one class to the rows of a place, as its ``fit`` does to rows in memory.

    The rows are not held: the machine cannot be updated.
    """
    check_possible(machine, place)
    held_out = _held_out(machine, place)
    moments, kernel = read_place(machine, place)
    formulation = machine._formulation(moments.n, moments.weight)
    recipe = Recipe.over(
        place, moments, kernel, formulation, moments.weight, moves=formulation.moves_with_rows
    )
    sample = recipe.gram(place.take(machine._spread_over(place.shape[0])))
    ridge = formulation.ridge({"weight": np.array([moments.weight / moments.n])})
    tol, rtol = machine._tolerances(formulation, moments.weight, sample, float(np.mean(ridge)))
    found = solve_elsewhere(place, recipe, machine._settings(tol, rtol, callback))
    solution = machine._solution(
        found.X, found.ids, found.problem, found.result, recipe.shift,
        formulation.unit(moments.weight),
    )  # fmt: skip
    machine._hold(None)
    machine._keep(solution)
    machine._home = place.home
    machine._tell(found.result, tol, solution)
    if held_out is not None:
        rows = place.take(np.flatnonzero(held_out))
        score = solution.function(rows, n_jobs=machine.n_jobs)
        machine._calibrate(np.sort(solution.comparable(score)))
    return machine._with_threshold() if machine.target_fpr is not None else machine


def _held_out(machine, place):
    """Mask of the rows that are held out to calibrate, which get the weight 0; None for none."""
    if machine.target_fpr is None:
        return None
    mask = draw_held_out(place.shape[0], machine.target_fpr, machine._seed())
    place.leave_out(mask)
    return mask
