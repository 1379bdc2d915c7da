"""States of machines that earlier versions saved, in the form that machines have now."""

from __future__ import annotations


def upgraded(machine, state):
    """The state of a machine as this version has it.

    Parameters
    ----------
    machine : estimator
        An empty one, that the state is for.
    state : dict
        Attributes from a pickle or a model file.
    """
    upgrade = _UPGRADES.get(type(machine).__name__)
    if upgrade is None or "_late" in state or "dual_coef_" not in state:
        return state
    return upgrade(state)


_UPGRADES: dict = {}
