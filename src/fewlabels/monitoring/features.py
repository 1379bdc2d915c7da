"""Which features differ between two groups of rows, with a bounded share of false findings."""

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.special import chdtrc
from scipy.stats import false_discovery_control, ks_2samp, mannwhitneyu, norm, rankdata

from .._typing import AnyArray, FloatArray
from .kept_rows import Table

_RATE = 0.05
# A column of numbers with at most so many different values is compared like categories.
_MAX_CATEGORIES = 10
# Pairs of at most so many columns are compared.
_MAX_PAIRED_COLUMNS = 50
# Values with so many words on average are texts.
_WORDS_PER_TEXT = 3.0
# Words in fewer texts than this aren't compared.
_MIN_TEXTS_WITH_WORD = 5
# Words, or categories, in a summary.
_MAX_WORDS = 12
_WORD = re.compile(r"[^\W\d_][\w'-]+")
# One column of a table.
Cells: TypeAlias = pd.Series | AnyArray
# What a group of rows has in a column, by name.
Summary: TypeAlias = dict[str, float]
# Name, kind, p-value, effect, the summaries of both groups, and the values of numbers.
Comparison: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class FeatureChange:
    """A feature before and after a change.

    Attributes
    ----------
    name : str
        The column.
    kind : {"number", "category", "text", "word"}
        How it was compared. Columns of a sparse matrix are compared as "word": zero or not.
    p_value, adjusted : float
        Of the test alone, and with all features in view (Benjamini and Hochberg).
    changed : bool
        Whether it changed, at a false discovery rate of 5 %.
    effect : float
        The largest difference between the shares of rows below any value (numbers), or in any set
        of categories: 0 for equal distributions, 1 for ones without common values.
    before, after : dict
        Mean and deviation of numbers; shares of categories; shares of texts with a word.
    values : tuple of array
        The values before and after, for pictures.
    """

    name: str
    kind: str
    p_value: float
    adjusted: float
    changed: bool
    effect: float
    before: Summary
    after: Summary
    values: tuple[FloatArray, ...] = field(repr=False, default=())


@dataclass(frozen=True)
class PairChange:
    """A changed rank correlation of two features.

    Attributes
    ----------
    names : tuple of str
        The two columns.
    adjusted : float
        The p-value, adjusted for all pairs (Benjamini and Hochberg).
    before, after : float
        The rank correlation before and after the change.
    """

    names: tuple[str, str]
    adjusted: float
    before: float
    after: float


def compare(before: Table, after: Table) -> list[FeatureChange]:
    """Compare all features of two groups of rows; return the most significant first."""
    if sp.issparse(before):
        found = _compare_presence(before, after)
    else:
        found = [_compare_column(name, *pair) for name, pair in _columns(before, after)]
    if not found:
        return []
    adjusted = false_discovery_control([p for _, _, p, *_ in found])
    done = [
        FeatureChange(name, kind, p, float(q), bool(q <= _RATE), *rest)
        for (name, kind, p, *rest), q in zip(found, adjusted, strict=True)
    ]
    return sorted(done, key=lambda f: (f.adjusted, f.p_value, -f.effect))


def compare_pairs(before: Table, after: Table) -> list[PairChange]:
    """Find pairs of features whose rank correlation changed, the most significant first."""
    if sp.issparse(before):
        return []
    columns = [
        (name, np.asarray(old, dtype=float), np.asarray(new, dtype=float))
        for name, (old, new) in _columns(before, after)
        if _kind(old, new) == "number"
    ]
    columns = [c for c in columns if np.isfinite(c[1]).all() and np.isfinite(c[2]).all()]
    names = [name for name, *_ in columns]
    if not 2 <= len(names) <= _MAX_PAIRED_COLUMNS or min(len(before), len(after)) < 10:
        return []
    old, new = (
        np.clip(np.corrcoef([rankdata(values) for values in part]), -0.9999, 0.9999)
        for part in ([c[1] for c in columns], [c[2] for c in columns])
    )
    # Fieller, Hartley and Pearson (1957): the variance of Fisher's transform of rank correlations.
    deviation = np.sqrt(1.06 / (len(before) - 3) + 1.06 / (len(after) - 3))
    i, j = np.triu_indices(len(names), 1)
    z = (np.arctanh(new[i, j]) - np.arctanh(old[i, j])) / deviation
    adjusted = false_discovery_control(2.0 * norm.sf(np.abs(z)))
    pairs = [
        PairChange((names[a], names[b]), float(q), float(old[a, b]), float(new[a, b]))
        for a, b, q in zip(i, j, adjusted, strict=True)
        if q <= _RATE
    ]
    return sorted(pairs, key=lambda pair: pair.adjusted)


def _columns(before: Table, after: Table) -> list[tuple[str, tuple[Cells, Cells]]]:
    """Return names with the values before and after."""
    if isinstance(before, pd.DataFrame):
        return [(str(name), (before[name], after[name])) for name in before.columns]
    return [(f"x{j}", (before[:, j], after[:, j])) for j in range(before.shape[1])]


def _kind(old: Cells, new: Cells) -> str:
    both = pd.Series(np.concatenate([np.asarray(old, object), np.asarray(new, object)])).dropna()
    if not all(isinstance(value, str) for value in both):
        return "number" if both.nunique() > _MAX_CATEGORIES else "category"
    words = both.map(lambda text: len(_WORD.findall(text))).mean() if len(both) else 0.0
    return "text" if words >= _WORDS_PER_TEXT and both.nunique() > _MAX_CATEGORIES else "category"


def _compare_column(name: str, old: Cells, new: Cells) -> Comparison:
    kind = _kind(old, new)
    if kind == "number":
        return name, kind, *_compare_numbers(np.asarray(old, float), np.asarray(new, float))
    if kind == "text":
        return name, kind, *_compare_texts(list(old), list(new))
    return name, kind, *_compare_categories(_as_text(old), _as_text(new))


def _compare_numbers(old: FloatArray, new: FloatArray) -> tuple[Any, ...]:
    """Test location and shape (Kolmogorov and Smirnov), spread (ranks), and missing values."""
    values = old[~np.isnan(old)], new[~np.isnan(new)]
    tests = []
    effect = 0.0
    if min(map(len, values)) >= 2:
        test = ks_2samp(*values, method="asymp")
        effect = float(test.statistic)
        middle = np.median(values[0])
        spread = mannwhitneyu(*(np.abs(v - middle) for v in values), method="asymptotic")
        tests += [test.pvalue, spread.pvalue]
    if len(values[0]) < len(old) or len(values[1]) < len(new):
        counts = np.array(
            [[len(v), len(all_) - len(v)] for v, all_ in zip(values, (old, new), strict=True)]
        )
        tests.append(_chi_square(counts))
        effect = max(effect, float(abs(np.diff(counts[:, 1] / counts.sum(axis=1))[0])))
    tests = [p for p in tests if not np.isnan(p)]
    p = min(1.0, len(tests) * min(tests)) if tests else 1.0
    summaries = [
        {"mean": float(v.mean()), "deviation": float(v.std())} if len(v) else {} for v in values
    ]
    return float(p), effect, *summaries, values


def _compare_categories(old: list[str], new: list[str]) -> tuple[float, float, Summary, Summary]:
    counts = pd.DataFrame([Counter(old), Counter(new)]).fillna(0).to_numpy(float)
    names = list(pd.DataFrame([Counter(old), Counter(new)]).columns)
    shares = counts / counts.sum(axis=1, keepdims=True)
    largest = np.argsort(-np.abs(shares[1] - shares[0]), kind="stable")[:_MAX_WORDS]
    was, now = ({names[k]: float(s[k]) for k in largest} for s in shares)
    return _chi_square(counts), float(0.5 * np.abs(shares[1] - shares[0]).sum()), was, now


def _compare_texts(old: list[object], new: list[object]) -> tuple[float, float, Summary, Summary]:
    """Find words that became more or less frequent; the text changed if any of them did."""
    sets = [
        [{w.lower() for w in _WORD.findall(t)} if isinstance(t, str) else () for t in part]
        for part in (old, new)
    ]
    counts = [Counter(word for words in part for word in words) for part in sets]
    names = [
        w for w in counts[0] | counts[1] if counts[0][w] + counts[1][w] >= _MIN_TEXTS_WITH_WORD
    ]
    if not names:
        return 1.0, 0.0, {}, {}
    seen = np.array([[c[w] for w in names] for c in counts], float)
    p, shares = _presence_tests(seen, len(old), len(new))
    adjusted = false_discovery_control(p)
    order = np.argsort(p, kind="stable")[:_MAX_WORDS]
    was, now = ({names[k]: float(s[k]) for k in order if adjusted[k] <= _RATE} for s in shares)
    return float(adjusted.min()), float(np.abs(shares[1] - shares[0]).max()), was, now


def _compare_presence(before: Table, after: Table) -> list[Comparison]:
    """Compare columns of sparse matrices by the share of rows in which they are not zero."""
    seen = np.array(
        [np.bincount(sp.csr_array(m).indices, minlength=m.shape[1]) for m in (before, after)],
        float,
    )
    kept = np.flatnonzero(seen.sum(axis=0) >= _MIN_TEXTS_WITH_WORD)
    if not len(kept):
        return []
    p, shares = _presence_tests(seen[:, kept], before.shape[0], after.shape[0])
    return [
        (
            f"x{j}",
            "word",
            float(p[k]),
            float(abs(shares[1, k] - shares[0, k])),
            {"share": float(shares[0, k])},
            {"share": float(shares[1, k])},
        )
        for k, j in enumerate(kept)
    ]


def _presence_tests(seen: FloatArray, n_old: int, n_new: int) -> tuple[FloatArray, FloatArray]:
    """Return p-values of equal shares, for counts of shape (2, n), and the shares."""
    n = np.array([[n_old], [n_new]], float)
    expected = n * seen.sum(axis=0) / n.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = np.maximum(np.abs(seen - expected) - 0.5, 0.0)  # Yates: counts are small
        x = (gap**2 * (1.0 / expected + 1.0 / (n - expected))).sum(axis=0)
    return np.where(np.isnan(x), 1.0, chdtrc(1.0, x)), seen / n


def _chi_square(counts: FloatArray) -> float:
    """Return the p-value of equal distributions in both rows; rare columns count as one."""
    total = counts.sum(axis=0)
    expected_least = total * counts.sum(axis=1).min() / counts.sum()
    rare = expected_least < 5.0
    if rare.any():
        counts = np.column_stack([counts[:, ~rare], counts[:, rare].sum(axis=1)])
    counts = counts[:, counts.sum(axis=0) > 0]
    if counts.shape[1] < 2:
        return 1.0
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    return float(chdtrc(counts.shape[1] - 1.0, ((counts - expected) ** 2 / expected).sum()))


def _as_text(values: Cells) -> list[str]:
    return ["(missing)" if v is None or v != v else str(v) for v in values]
