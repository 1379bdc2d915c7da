"""Preprocessing that travels inside the model."""

import numpy as np

from ..errors import UserError
from .schema import IMPUTE


def _make_encoder(schema, scale, gaps):
    """The transformer from the columns of the schema to numbers.

    Numbers and dates are standardised; categories become one 0/1 column each, all 0 for a category
    that was not seen in training. Missing numbers become the median, and every column that has
    some in training (``gaps``: names, of matrices positions) gets another one, 1 where its number
    is missing. Sparse matrices are scaled without centring, which would make them dense.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import MissingIndicator, SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import (
        FunctionTransformer,
        MaxAbsScaler,
        OneHotEncoder,
        StandardScaler,
    )

    if schema.layout == "sparse":
        return MaxAbsScaler() if scale else FunctionTransformer(accept_sparse=True)
    steps = [SimpleImputer(strategy="median")] if schema.missing == IMPUTE else []
    steps += [StandardScaler()] if scale else []
    numbers = make_pipeline(*steps) if len(steps) > 1 else steps[0] if steps else "passthrough"
    if schema.layout == "dense":
        if not gaps:
            return FunctionTransformer() if numbers == "passthrough" else numbers
        parts = [("numbers", numbers, list(range(schema.n_columns)))]
    else:
        encode = OneHotEncoder(handle_unknown="ignore")
        parts = [
            ("numbers", numbers, schema.names("number", "date")),
            ("categories", encode, schema.names("category")),
        ]
    parts.append(("missing", MissingIndicator(features="all"), list(gaps)))
    return ColumnTransformer([part for part in parts if part[2]])


def fit_encoder(schema, rows, source, scale=True):
    """The fitted encoder, the encoded rows, and the schema with its numbers of categories.

    Rows that no machine could learn from are refused.
    """
    gaps = []
    if schema.missing == IMPUTE and schema.layout == "dense":
        gaps = np.flatnonzero(np.isnan(rows).any(axis=0)).tolist()
    elif schema.missing == IMPUTE:
        gaps = [name for name in schema.names("number", "date") if rows[name].isna().any()]
    encoder = _make_encoder(schema, scale, gaps)
    X = encoder.fit_transform(rows)
    dense = isinstance(X, np.ndarray)
    if not (np.ptp(X, axis=0) if dense else (X.max(axis=0) - X.min(axis=0)).data).any():
        raise UserError(
            f"All columns of {source} are constant over the training rows, so there is nothing to "
            "learn; check the file, or the rows chosen with --target."
        )
    return encoder, X, schema.with_categories(known_categories(encoder, schema))


def known_categories(encoder, schema):
    """Categories seen in training, by column."""
    names = schema.names("category")
    if not names:
        return {}
    found = encoder.named_transformers_["categories"].categories_
    return dict(zip(names, found, strict=True))
