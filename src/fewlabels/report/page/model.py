"""Sections on the model: its settings, the search for them, and how exact the solution is."""

import numpy as np
import pandas as pd

from ..contents import Contents
from . import pictures, words
from .elements import Html, alignment, facts, prose, section, table, tag

# Candidates shown before the rest is folded away.
_CANDIDATES = 12
# Parameters that do not change the model.
_NO_SETTINGS = frozenset(("verbose", "n_jobs", "shrinking", "cache_size"))


def machine(contents: Contents) -> Html:
    chosen = {} if contents.tuning is None else contents.tuning.chosen
    taken = [(name, f"{_setting(value)} (chosen from the data)") for name, value in chosen.items()]
    others = [
        (name, _setting(value))
        for name, value in contents.settings.items()
        if value is not None and name not in chosen and name not in _NO_SETTINGS
    ]
    reason = words.capital(contents.why)
    return section(
        "machine",
        "Model and settings",
        tag("p", f"Model: {contents.machine}, the {contents.title}. Why: {reason}."),
        facts(taken) if taken else None,
        tag("details", tag("summary", "Other settings" if taken else "Settings"), facts(others)),
    )


def _setting(value: object) -> str:
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


def search(contents: Contents) -> Html | None:
    found = contents.tuning
    if found is None:
        return None
    table_ = found.candidates
    if "folds" in table_:  # a search that ends early leaves some untried
        table_ = table_[(table_["folds"] > 0) | table_["chosen"].astype(bool)]
    scored = found.curve.y in table_ and table_[found.curve.y].notna().any()
    best = table_.sort_values(found.curve.y, ascending=False) if scored else table_
    first = best.head(_CANDIDATES)
    chosen = table_["chosen"].astype(bool)
    if chosen.any() and not first["chosen"].astype(bool).any():
        first = pd.concat([first, table_[chosen]])
    heads = [
        name
        for name in first.columns
        if name != "chosen" and first[name].notna().any() and _differs(table_[name])
    ]
    cells = [_candidates(name, first[name], found.curve.y) for name in heads]
    rows = list(zip(*cells, strict=True)) or [()] * len(first)
    marked = {i for i, value in enumerate(first["chosen"].astype(bool)) if value}
    classes = [alignment(first[name]) for name in heads]
    shown = len(first), len(table_)
    caption = (
        f"{'All' if shown[0] == shown[1] else 'The best'} {words.count(shown[0])} of "
        f"{words.count(shown[1])} settings tried, in {words.seconds(found.seconds)}; the chosen "
        "ones in bold."
    )
    return section(
        "search",
        "How the settings were chosen",
        tag("p", prose(found.reason)),
        pictures.search(found),
        table(
            caption,
            [name.replace("_", " ") for name in heads],
            rows,
            classes,
            marked,
            "stacked candidates",
        ),
        tag("p", _COLUMNS_OF_THE_RULE) if "trim" in table_ else None,
        tag("p", _FOR_CHOOSING) if contents.findings.rates and "accuracy" in heads else None,
    )


def _differs(values: pd.Series) -> bool:
    return len(values) == 1 or values.nunique(dropna=False) > 1


def _candidates(name: str, values: pd.Series, score: str) -> list[str]:
    if pd.api.types.is_bool_dtype(values):
        return ["yes" if value else "no" for value in values]
    if name in (score, "standard_error", "gain", "gain_error"):
        known = values.fillna(np.nan).astype(float)
        return [
            text if value == value else ""
            for text, value in zip(words.column(known), known, strict=True)
        ]
    return [value if isinstance(value, str) else words.number(value) for value in values]


def certificate(contents: Contents) -> Html:
    text = (
        "The model solves an optimisation problem. These figures show how close it is to the "
        "exact solution."
        if contents.converged
        else "The fit stopped before it reached the tolerance. These figures show how far it got."
    )
    drawn = pictures.convergence(contents.history, contents.task.solves_several)
    solved = facts(contents.certificate)
    return section("certificate", "How exact the solution is", tag("p", text), solved, drawn)
