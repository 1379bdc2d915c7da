"""The anomalies of a table that a false discovery rate allows to list."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

from ..._util.messages import UserError, plural, ref
from ...tables.sources import DataSource
from ..observer import Observer
from ..options.score import ScoreOptions
from ..tasks.score_columns import ClassColumns
from .chunks import score_chunks
from .counts import ScoringCounts
from .scorer import Scorer


def mark_discoveries(
    scorer: Scorer,
    data: DataSource,
    options: ScoreOptions,
    observer: Observer,
    chunk_rows: int | None = None,
) -> tuple[Scorer, dict[str, Any]]:
    """Return a scorer that marks discoveries, and facts for the summary.

    It scores all rows once before any is written, as the largest p-value of a discovery depends
    on all of them. Without a false discovery rate among the options, the scorer stays.
    """
    fdr = options.fdr
    if fdr is None:
        return scorer, {}
    columns = scorer.columns
    if isinstance(columns, ClassColumns) or columns.extra != "p_value":
        raise UserError(
            f"{ref('fdr')} needs p-values, which one-class models with a false alarm rate have; "
            f"{scorer.source} is a model of type {scorer.metadata['method']} without p-values."
        )
    from ...metrics import benjamini_hochberg  # only those who ask for discoveries wait for it

    observer.report_stage("computing the p-values of all rows")
    counts = ScoringCounts(scorer, data, options.skip_missing)
    chunks = score_chunks(scorer, data, counts, observer, chunk_rows=chunk_rows)
    found = [scored.columns["p_value"] for _, scored in chunks]
    p = pa.chunked_array(found, pa.float64()).drop_null().to_numpy()
    listed = benjamini_hochberg(p, fdr) if len(p) else np.zeros(0, bool)
    cut = float(p[listed].max()) if listed.any() else -1.0
    facts: dict[str, Any] = {"fdr": fdr, "discoveries": int(listed.sum())}
    n = len(scorer.pipeline[-1].conformal_.scores)
    if len(p) and not listed.any():
        needed = math.ceil(len(p) / (fdr * (n + 1)))
        facts["too_few"] = (
            f"no discoveries: with {plural(n, 'calibration row')} no p-value is below "
            f"{1 / (n + 1):.2g}, so a list from {plural(len(p), 'row')} needs at least "
            f"{plural(needed, 'row')} as unusual as that; fit to more normal rows, "
            "score fewer rows, or pass a larger rate"
        )
    return scorer.with_columns(columns._replace(cut=cut)), facts
