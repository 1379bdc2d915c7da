"""Rows, background and columns of an explanation in one form.

Rows of both can be mixed, and every encoded column can be traced to its input column.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from ..._typing import (
    AnyArray,
    BoolArray,
    FloatArray,
    IntArray,
    MatrixLike,
    RandomStateLike,
    RowMatrix,
)
from ...kernels.rows import checked_rows

# Rows to explain, or to compare with: a table with names, or numbers.
Table: TypeAlias = pd.DataFrame | RowMatrix
Decide: TypeAlias = Callable[[Table], FloatArray]
# Columns by name or position, by the name of their group.
Groups: TypeAlias = Mapping[str, str | Sequence[str | int]]


def as_rows(X: MatrixLike, what: str, missing: bool = False) -> Table:
    """Return X as a DataFrame, a dense array or a CSR array of at least one row.

    ``missing`` says whether arrays may have missing numbers.
    """
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if isinstance(X, pd.DataFrame):
        if len(X) == 0 or X.shape[1] == 0:
            raise ValueError(f"{what} has shape {X.shape}; pass at least one row and one column.")
        return X.reset_index(drop=True)
    allowed = "allow-nan" if missing else True
    X = checked_rows(X, accept_sparse="csr", input_name=what, ensure_all_finite=allowed)
    return sp.csr_array(X) if sp.issparse(X) else X


def dense(X: Table) -> AnyArray:
    """Return rows as an array."""
    return sp.csr_array(X).toarray() if sp.issparse(X) else np.asarray(X)


def stack_rows(rows: Table, background: Table) -> Table:
    """Stack rows and background rows."""
    if isinstance(rows, pd.DataFrame):
        return pd.concat([rows, background], ignore_index=True)
    if sp.issparse(rows) or sp.issparse(background):
        return sp.csr_array(sp.vstack([sp.csr_array(rows), sp.csr_array(background)]))
    return np.concatenate([rows, background])


def mix_rows(together: Table, whose: IntArray) -> Table:
    """Mix rows: column k comes from row ``whose[:, k]``."""
    if isinstance(together, pd.DataFrame):
        return pd.DataFrame(
            {
                name: together[name].take(whose[:, k]).reset_index(drop=True)
                for k, name in enumerate(together.columns)
            }
        )
    columns = np.arange(together.shape[1])
    if sp.issparse(together):
        return sp.csr_array(dense(together)[whose, columns])
    return together[whose, columns]


def column_names(X: Table, columns: Sequence[str] | None, model: BaseEstimator) -> list[str]:
    """Return the names of the columns of X."""
    if columns is not None:
        names = [str(name) for name in columns]
        if len(names) != X.shape[1] or len(set(names)) != len(names):
            raise ValueError(
                f"columns has {len(names)} names, {len(set(names))} of them different, and X has "
                f"{X.shape[1]} columns; pass one name per column."
            )
        return names
    known = X.columns if isinstance(X, pd.DataFrame) else getattr(model, "feature_names_in_", None)
    if known is None or len(known) != X.shape[1]:
        return [f"x{k}" for k in range(X.shape[1])]
    return [str(name) for name in known]


def players_of(names: list[str], groups: Groups | None) -> tuple[IntArray, list[str]]:
    """Return the player of every column, and the players' names.

    A group stands where its first column does.
    """
    home = {}
    for group, members in (groups or {}).items():
        if isinstance(members, str):
            members = [members]
        for member in members:
            name = str(member)
            if name not in names and isinstance(member, int | np.integer):
                name = names[member] if 0 <= member < len(names) else name
            if name not in names:
                raise ValueError(
                    f"groups names the column {member!r}, which X does not have; its columns are "
                    f"{', '.join(names[:8])}{', ...' if len(names) > 8 else ''}."
                )
            if name in home:
                raise ValueError(f"column {name!r} is in two groups; put it in one.")
            home[name] = str(group)
    shown = [home.get(name, name) for name in names]
    players = list(dict.fromkeys(shown))
    if len(players) < len(set(shown) | set(home.values())) or set(home.values()) & (
        set(names) - set(home)
    ):
        raise ValueError("a group has the name of a column outside of it; give it another name.")
    place = {player: k for k, player in enumerate(players)}
    return np.array([place[name] for name in shown]), players


def sample_rows(background: Table, size: int, random_state: RandomStateLike) -> Table:
    """Draw at most ``size`` rows without replacement, in their order."""
    n = background.shape[0]
    if n <= size:
        return background
    rng = check_random_state(0 if random_state is None else random_state)
    rows = np.sort(rng.choice(n, size, replace=False))
    return background.iloc[rows] if isinstance(background, pd.DataFrame) else background[rows]


def held_rows(model: BaseEstimator) -> RowMatrix | None:
    """Return the training rows that a model holds and that count; None if it holds none."""
    rows = getattr(model, "training_rows_", None)
    if rows is None:
        return None
    return rows.X if rows.weight.all() else rows.X[rows.weight > 0]


def split_pipeline(model: BaseEstimator) -> tuple[Pipeline | None, BaseEstimator]:
    """Return the steps before the model (None without any), and the model itself."""
    model = getattr(model, "best_estimator_", model)
    if not isinstance(model, Pipeline):
        return None, model
    inner, estimator = split_pipeline(model.steps[-1][1])
    steps = model.steps[:-1] + ([("inner", inner)] if inner is not None else [])
    return (Pipeline(steps) if steps else None), estimator


# Mixed rows that the finding is tried on.
_TRIALS = 64
_SAME = 1e-9


def find_sources(steps: Pipeline, rows: Table, background: Table) -> IntArray | None:
    """Find the input column of each encoded column; None if one depends on several.

    Found by trial: the input columns are moved between rows, one at a time, and the encoded
    columns that change are seen. The finding is checked on rows mixed at random.
    """
    together = stack_rows(rows, background)
    encoded = dense(steps.transform(together)).astype(float)
    n, n_columns = together.shape
    rng = check_random_state(0)
    if encoded.shape[1] == n_columns:
        source = np.arange(n_columns)
        if _confirm_sources(steps, together, encoded, source, rng):
            return source
    source = np.full(encoded.shape[1], -1)
    for column in range(n_columns):
        whose = np.tile(np.arange(n)[:, None], n_columns)
        # Every row takes the next one's value: what is no constant changes somewhere.
        whose[:, column] = np.roll(whose[:, column], 1)
        found = dense(steps.transform(mix_rows(together, whose))).astype(float)
        changed = _is_different(found, encoded).any(axis=0)
        if (source[changed] >= 0).any():
            return None
        source[changed] = column
    # Those that never change belong to nobody; any column will do.
    source[source < 0] = 0
    return source if _confirm_sources(steps, together, encoded, source, rng) else None


def _confirm_sources(
    steps: Pipeline,
    together: Table,
    encoded: FloatArray,
    source: IntArray,
    rng: np.random.RandomState,
) -> bool:
    n, n_columns = together.shape
    whose = rng.randint(n, size=(_TRIALS, n_columns))
    expected = encoded[whose[:, source], np.arange(encoded.shape[1])]
    found = dense(steps.transform(mix_rows(together, whose))).astype(float)
    return found.shape == expected.shape and not _is_different(found, expected).any()


def _is_different(a: FloatArray, b: FloatArray) -> BoolArray:
    return np.abs(a - b) > _SAME * (1.0 + np.abs(b))
