"""The solvers that the default one is compared with, and the options that each of them takes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from numbers import Real
from typing import Any

import numpy as np

from ..problem import DualProblem
from .papers.interior_point import solve_interior_point
from .papers.lagrangian import solve_lagrangian
from .papers.projected import solve_projected
from .qp import solve_qp
from .run import Result

# Accuracy of the interior point methods, which costs them few iterations.
_EXACT = 1e-10
# What the papers' stopping rule is for a tolerance: the paper's 1e-5 for the default of 1e-3.
_SHARE = 1e-2


def _is_positive(value: float) -> bool:
    return 0.0 < value < np.inf


def _is_share(value: float) -> bool:
    return 0.0 < value < 1.0


_RHO = {"rho": (_is_positive, "a number > 0")}
_EPSILON = {"epsilon": (_is_positive, "a number > 0")}
_INSIDE = (_is_share, "a number in (0, 1)")


@dataclass(frozen=True)
class ReferenceSolver:
    """A solver of the problem of SVDD, with its own stopping rule.

    Attributes
    ----------
    solve : callable
        ``solve(problem, epsilon=..., **options)`` returns a Result.
    epsilon_of : callable
        Its stopping rule for a tolerance on the duality gap.
    options : dict
        What else users may set: a check of each value, and what it allows in words.
    """

    solve: Callable[..., Result]
    to_epsilon: Callable[[float], float]
    options: Mapping[str, tuple[Callable[[float], bool], str]] = field(default_factory=dict)

    def run(
        self, problem: DualProblem, tol: float, options: Mapping | None = None, **limits: Any
    ) -> Result:
        """Solve a problem; ``options`` take precedence over what follows from ``tol``."""
        return self.solve(
            problem, **{"epsilon": self.to_epsilon(tol), **(options or {})}, **limits
        )

    def check(self, name: str, options: Mapping) -> None:
        """Refuse options that the solver ``name`` doesn't take."""
        for option, value in options.items():
            if option not in self.options:
                close = get_close_matches(str(option), self.options, 1)
                known = ", ".join(map(repr, self.options)) or "none"
                raise ValueError(
                    f"solver_options has {option!r}, but the options of solver={name!r} are: "
                    f"{known}; " + (f"did you mean {close[0]!r}?" if close else "leave it out.")
                )
            is_allowed, words = self.options[option]
            is_number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
            if not is_number or not is_allowed(value):
                raise ValueError(
                    f"solver_options={{{option!r}: {value!r}}} is not allowed; pass {words}."
                )


def _solve_by_clarabel(problem: DualProblem, epsilon: float, **limits: Any) -> Result:
    return solve_qp(problem, tol=epsilon, **limits)


def _paper_tolerance(tol: float) -> float:
    return _SHARE * tol


def _exact_tolerance(tol: float) -> float:
    return min(tol, _EXACT)


REFERENCE_SOLVERS: dict[str, ReferenceSolver] = {
    "lagrangian": ReferenceSolver(
        solve_lagrangian, _paper_tolerance, {**_RHO, "rate": _INSIDE, **_EPSILON}
    ),
    "projected": ReferenceSolver(
        solve_projected, _paper_tolerance, {**_RHO, "step": _INSIDE, **_EPSILON}
    ),
    "interior-point": ReferenceSolver(
        solve_interior_point, _exact_tolerance, {**_RHO, **_EPSILON}
    ),
    "qp": ReferenceSolver(_solve_by_clarabel, _exact_tolerance),
}


def check_solver_options(solver: str, options: Mapping | None) -> None:
    """Refuse options that a solver doesn't take; None or an empty dict is none."""
    if not options:
        return
    if solver not in REFERENCE_SOLVERS:
        named = ", ".join(repr(name) for name, one in REFERENCE_SOLVERS.items() if one.options)
        raise ValueError(
            f"solver_options={options!r} is for solver={named}; pass one of these, or leave "
            f"solver_options out (here solver={solver!r})."
        )
    REFERENCE_SOLVERS[solver].check(solver, options)
