"""Sections on the model: its settings, the search for them, and how exact the solution is."""

import numpy as np
import pandas as pd

from ..contents import Contents
from . import words
from .elements import Html, alignment, facts, prose, section, table, tag
from .pictures.curves import draw_convergence, draw_search

# Candidates shown before the rest is folded away.
_MAX_CANDIDATES = 12
# Parameters that do not change the model.
_HIDDEN_SETTINGS = frozenset(("verbose", "n_jobs", "shrinking", "cache_size"))


def render_model(contents: Contents) -> Html:
    chosen = {} if contents.tuning is None else contents.tuning.chosen
    chosen_settings = [
        (name, f"{_write_setting(value)} (chosen from the data)") for name, value in chosen.items()
    ]
    others = [
        (name, _write_setting(value))
        for name, value in contents.settings.items()
        if value is not None and name not in chosen and name not in _HIDDEN_SETTINGS
    ]
    reason = words.capital(contents.reason)
    return section(
        "model",
        "Model and settings",
        tag("p", f"Model: {contents.method}, the {contents.title}. Why: {reason}."),
        facts(chosen_settings) if chosen_settings else None,
        tag(
            "details",
            tag("summary", "Other settings" if chosen_settings else "Settings"),
            facts(others),
        ),
    )


def _write_setting(value: object) -> str:
    return words.number(value) if isinstance(value, float) else str(value)


_COLUMNS_OF_THE_RULE = (
    "The table uses four fifths of the rows (2000 at most) for training and the others for "
    "scoring, so its gamma differs slightly from the chosen one. Trim: share of training rows "
    "dropped (dropped: how many). Factor: gamma times the squared median distance. Beyond reach: "
    "share of held-out rows too far away for the kernel. AUC shuffled: ROC AUC of held-out rows "
    "against rows with shuffled columns. Rank correlation: with the ranking of the settings in "
    "bold."
)


_FOR_CHOOSING = (
    "Use these accuracies to compare settings only: the best of several is too high by chance. "
    'The accuracy to expect is under "Expected errors".'
)


def render_search(contents: Contents) -> Html | None:
    result = contents.tuning
    if result is None:
        return None
    candidates = result.candidates
    if "folds" in candidates:  # a search that ends early leaves some untried
        candidates = candidates[(candidates["folds"] > 0) | candidates["chosen"].astype(bool)]
    scored = result.curve.y in candidates and candidates[result.curve.y].notna().any()
    best = candidates.sort_values(result.curve.y, ascending=False) if scored else candidates
    first = best.head(_MAX_CANDIDATES)
    chosen = candidates["chosen"].astype(bool)
    if chosen.any() and not first["chosen"].astype(bool).any():
        first = pd.concat([first, candidates[chosen]])
    heads = [
        name
        for name in first.columns
        if name != "chosen" and first[name].notna().any() and _has_several_values(candidates[name])
    ]
    cells = [_write_column(name, first[name], result.curve.y) for name in heads]
    rows = list(zip(*cells, strict=True)) or [()] * len(first)
    marked = {i for i, value in enumerate(first["chosen"].astype(bool)) if value}
    classes = [alignment(first[name]) for name in heads]
    shown = len(first), len(candidates)
    caption = (
        f"{'All' if shown[0] == shown[1] else 'The best'} {words.count(shown[0])} of "
        f"{words.count(shown[1])} settings tried, in {words.seconds(result.seconds)}; the chosen "
        "ones in bold."
    )
    return section(
        "search",
        "How the settings were chosen",
        tag("p", prose(result.reason)),
        draw_search(result),
        table(
            caption,
            [name.replace("_", " ") for name in heads],
            rows,
            classes,
            marked,
            "stacked candidates",
        ),
        tag("p", _COLUMNS_OF_THE_RULE) if "trim" in candidates else None,
        tag("p", _FOR_CHOOSING) if contents.findings.rates and "accuracy" in heads else None,
    )


def _has_several_values(values: pd.Series) -> bool:
    return len(values) == 1 or values.nunique(dropna=False) > 1


def _write_column(name: str, values: pd.Series, score: str) -> list[str]:
    if pd.api.types.is_bool_dtype(values):
        return ["yes" if value else "no" for value in values]
    if name in (score, "standard_error", "gain", "gain_error"):
        known = values.fillna(np.nan).astype(float)
        return [
            text if value == value else ""
            for text, value in zip(words.column(known), known, strict=True)
        ]
    return [value if isinstance(value, str) else words.number(value) for value in values]


def render_certificate(contents: Contents) -> Html:
    text = (
        "The model solves an optimisation problem. These figures show how close it is to the "
        "exact solution."
        if contents.converged
        else "The fit stopped before it reached the tolerance. These figures show how far it got."
    )
    drawn = draw_convergence(contents.history, contents.task.solves_several)
    solved = facts(contents.certificate)
    return section("certificate", "How exact the solution is", tag("p", text), solved, drawn)
