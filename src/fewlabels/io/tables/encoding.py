"""Preprocessing that travels inside the model."""

from __future__ import annotations

import numpy as np

from ..errors import UserError
from .schema import IMPUTE


def make_encoder(schema, scale=True, gaps=()):
    """Make the transformer from the columns of the schema to numbers.

    Numbers and dates are standardised; categories become one 0/1 column each, all 0 for a category
    that was not seen in training. Missing numbers become the median, and every column that has
    some in training (``gaps``: names, of matrices positions) gets another one, 1 where its number
    is missing. Sparse matrices are scaled without centring, which would make them dense.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import MissingIndicator
    from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, OneHotEncoder

    if schema.layout == "sparse":
        return MaxAbsScaler() if scale else FunctionTransformer(accept_sparse=True)
    numbers = _of_numbers(schema.missing == IMPUTE, scale)
    flags = ("missing", MissingIndicator(features="all"), list(gaps))
    if schema.layout == "dense":
        if not gaps:
            return FunctionTransformer() if numbers == "passthrough" else numbers
        every = ("numbers", numbers, list(range(schema.n_columns)))
        return ColumnTransformer([every, flags])
    parts = [
        ("numbers", numbers, schema.names("number", "date")),
        ("categories", OneHotEncoder(handle_unknown="ignore"), schema.names("category")),
        flags,
    ]
    return ColumnTransformer([part for part in parts if part[2]])


def _of_numbers(impute, scale):
    """What happens to a number."""
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if not impute:
        return StandardScaler() if scale else "passthrough"
    fill = SimpleImputer(strategy="median")
    return make_pipeline(fill, StandardScaler()) if scale else fill


def fit_encoder(schema, rows, source, scale=True):
    """The fitted encoder, the encoded rows, and the schema with its numbers of categories.

    Rows that no machine could learn from are refused.
    """
    encoder = make_encoder(schema, scale, _gaps(rows, schema))
    X = encoder.fit_transform(rows)
    if _constant(X):
        raise UserError(
            f"All columns of {source} are constant over the training rows, so there is nothing to "
            "learn; check the file, or the rows chosen with --target."
        )
    if schema.layout == "table" and schema.names("category"):
        found = encoder.named_transformers_["categories"].categories_
        schema = schema.with_categories([len(values) for values in found])
    return encoder, X, schema


def known_categories(encoder, schema):
    """Categories seen in training, by column."""
    names = schema.names("category")
    if not names:
        return {}
    found = encoder.named_transformers_["categories"].categories_
    return dict(zip(names, found, strict=True))


def _gaps(rows, schema):
    """Columns with missing numbers, by name or position."""
    if schema.missing != IMPUTE:
        return []
    if schema.layout == "dense":
        return [int(j) for j in np.flatnonzero(np.isnan(rows).any(axis=0))]
    return [name for name in schema.names("number", "date") if rows[name].isna().any()]


def _constant(X):
    if isinstance(X, np.ndarray):
        return not np.ptp(X, axis=0).any()
    spread = X.max(axis=0) - X.min(axis=0)
    return not spread.count_nonzero()
