"""A list of anomalies with a bounded false discovery rate, from the p-values of all rows."""

import math

import numpy as np
import pyarrow as pa

from ..io.errors import UserError
from ..io.tables.tally import Tally
from ..options.words import ref
from .pieces import ScoredPieces


def find_discoveries(scorer, source, fdr, *, skip_missing, chunk_rows=None, observer):
    """Have a scorer mark discoveries: it looks at all rows once before any is written.

    Parameters
    ----------
    scorer : Scorer
        A model with p-values. Its answer gets the largest p-value of a discovery.
    source : source of rows
        The rows to score.
    fdr : float
        False discovery rate, in (0, 1).
    skip_missing, chunk_rows, observer
        As for scoring.

    Returns
    -------
    dict
        Facts for the summary.
    """
    if not 0.0 < fdr < 1.0:
        raise UserError(f"{ref('fdr', fdr)} is out of range; it must be between 0 and 1.")
    if scorer.answer.more != "p_value":
        raise UserError(
            f"{ref('fdr')} needs p-values, which one-class models with a false alarm rate have; "
            f"{scorer.source} is a model of type {scorer.metadata['machine']} without p-values."
        )
    from ..metrics import benjamini_hochberg  # only those who ask for discoveries wait for it

    observer.step("computing the p-values of all rows")
    pieces = ScoredPieces(scorer, source, Tally(source, skip_missing), observer)
    found = [arrays["p_value"] for _, arrays in pieces.run(scorer.answer.columns, chunk_rows)]
    pieces.tally.check()
    scorer.wordless.clear()  # they are counted again
    p = pa.chunked_array(found, pa.float64()).drop_null().to_numpy()
    listed = benjamini_hochberg(p, fdr) if len(p) else np.zeros(0, bool)
    cut = float(p[listed].max()) if listed.any() else -1.0
    scorer.answer = scorer.answer._replace(cut=cut)
    facts = {"fdr": fdr, "discoveries": int(listed.sum())}
    n = len(scorer.pipeline[-1].conformal_.scores)
    if len(p) and not listed.any():
        needed = math.ceil(len(p) / (fdr * (n + 1)))
        facts["too_few"] = (
            f"no discoveries: with {n:,} calibration rows no p-value is below {1 / (n + 1):.2g}, "
            f"so a list from {len(p):,} rows needs at least {needed:,} rows as unusual as that; "
            "fit to more normal rows, score fewer rows, or pass a larger rate"
        )
    return facts
