"""Preprocessing that travels inside the model."""

from __future__ import annotations

import numpy as np

from .errors import UserError


def make_encoder(schema, scale=True):
    """Make the transformer from the columns of the schema to numbers.

    Numbers are standardised; categories become one 0/1 column each, all 0 for a
    category that was not seen in training. Sparse matrices are scaled without
    centring, which would make them dense.

    Parameters
    ----------
    schema : Schema
        What goes in.
    scale : bool, default=True
        Whether numbers are scaled.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import (
        FunctionTransformer,
        MaxAbsScaler,
        OneHotEncoder,
        StandardScaler,
    )

    if schema.layout == "sparse":
        return MaxAbsScaler() if scale else FunctionTransformer(accept_sparse=True)
    numbers = StandardScaler() if scale else FunctionTransformer()
    if schema.layout == "dense":
        return numbers
    parts = [
        ("numbers", numbers if scale else "passthrough", schema.names("number")),
        ("categories", OneHotEncoder(handle_unknown="ignore"), schema.names("category")),
    ]
    return ColumnTransformer([part for part in parts if part[2]])


def fit_encoder(schema, rows, source, scale=True):
    """Fit the encoder, refusing rows that no machine could learn from.

    Returns
    -------
    encoder : estimator
        Fitted.
    X : ndarray or sparse array
        The encoded rows.
    schema : Schema
        With the number of categories of each column.
    """
    encoder = make_encoder(schema, scale)
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


def _constant(X):
    if isinstance(X, np.ndarray):
        return not np.ptp(X, axis=0).any()
    spread = X.max(axis=0) - X.min(axis=0)
    return not spread.count_nonzero()
