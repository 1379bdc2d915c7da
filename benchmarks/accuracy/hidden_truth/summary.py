"""Coverage, verdicts, ranks and seconds of the cases that have run."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import binom

LEVEL = 0.9
# A verdict of "no signal" is wrong from this true ROC AUC of a model on, unless it says that it
# only holds up to a smaller share of positives, and one of "signal" at chance.
WORTHWHILE = 0.7
# Settings by which cases are pooled; cells are the finest.
_SIGNAL = ("quantity", "labels", "signal")
_SIZE = ("quantity", "labels", "size")
_CELLS = (*_SIGNAL, "share")
SIGNALS = ("none", "weak", "moderate", "strong")


def strength(case: dict) -> str:
    """Signal of a case, in words."""
    area = case["area"]
    return (
        "none"
        if area == 0.5
        else next(
            word
            for word, most in (("weak", 0.75), ("moderate", 0.89), ("strong", 1.0))
            if area <= most
        )
    )


def coverage(found: list[dict], by: tuple[str, ...]) -> list[list]:
    """Coverage and width of every interval, by some of the settings.

    The last two columns are the probability of so few hits or fewer at the nominal level, and for
    random labels Holm's p-value of it.
    """
    lines = [
        (f"{one['part']}, {name}", one["labels"], f"{strength(one)} signal", str(one["share"]),
         f"{one['n_labels']} labels",
         interval["low"] <= interval["truth"] <= interval["high"],
         interval["high"] - interval["low"])
        for one in found
        for name, interval in one.get("intervals", {}).items()
    ]  # fmt: skip
    columns = ["quantity", "labels", "signal", "share", "size", "holds", "width"]
    cells = []
    for key, group in pd.DataFrame(lines, columns=columns).groupby(list(by), sort=False):
        n, hits = len(group), int(group["holds"].sum())
        level = 0.99 if "AUC" in key[0] else LEVEL
        too_few = float(binom.cdf(hits, n, level))
        cells.append([", ".join(key), n, hits / n, float(group["width"].mean()), too_few])
    at_random = [", random" in cell[0] for cell in cells]
    corrected = iter(
        holm([cell[-1] for cell, is_so in zip(cells, at_random, strict=True) if is_so])
    )
    return [
        [*cell, next(corrected) if is_so else None]
        for cell, is_so in zip(cells, at_random, strict=True)
    ]


def by_signal(found: list[dict]) -> list[list]:
    """Coverage and mean width of each quantity and kind of labels, with a column per signal."""
    rows: dict[str, dict[str, str]] = {}
    for name, _, held, width, *_ in coverage(found, _SIGNAL):
        quantity, signal = name.removesuffix(" signal").rsplit(", ", 1)
        rows.setdefault(quantity, {})[signal] = f"{held:.2f} / {width:.2f}"
    return [[name, *(cells.get(signal) for signal in SIGNALS)] for name, cells in rows.items()]


def holm(p_values: list[float]) -> list[float]:
    """P-values corrected for their number (Holm 1979)."""
    order, least, found = np.argsort(p_values), 0.0, np.empty(len(p_values))
    for place, k in enumerate(order):
        least = max(least, min(1.0, (len(order) - place) * p_values[k]))
        found[k] = least
    return found.tolist()


def verdicts(found: list[dict]) -> list[list]:
    """How often each verdict was given, by part, signal and share."""
    kept = [one for one in found if "verdict" in one and one["part"] in ("positives", "classes")]
    table = []
    for key in dict.fromkeys((one["part"], strength(one), one["repeats"]) for one in kept):
        own = [one for one in kept if (one["part"], strength(one), one["repeats"]) == key]
        said = [one["verdict"] for one in own]
        row = [f"{key[0]}, {key[1]} signal" + (f", rows {key[2]} times" if key[2] > 1 else "")]
        row += [len(own)] + [
            said.count(v) for v in ("signal", "no signal", "too few labels", None)
        ]
        silenced = [
            one for v, one in zip(said, own, strict=True)
            if v == "no signal" and one.get("ranking", 0.0) >= WORTHWHILE
        ]  # fmt: skip
        wrong = sum(v == "signal" and one["area"] == 0.5 for v, one in zip(said, own, strict=True))
        wrong += sum(one["true_share"] <= (one.get("up_to") or 1.0) for one in silenced)
        table.append([*row, wrong, len(silenced)])
    return table


def means(found: list[dict]) -> list[list]:
    """Means of ranks, calibration errors and seconds, by part, labels and signal."""
    table, parts = [], ("positives", "classes", "one-class")
    kept = [one for one in found if one["part"] in parts]
    for key in dict.fromkeys((one["part"], one["labels"], strength(one)) for one in kept):
        own = [one for one in kept if (one["part"], one["labels"], strength(one)) == key]

        def mean(name, own=own):
            values = [one[name] for one in own if one.get(name) is not None]
            return float(np.mean(values)) if values else None

        tops = [one["top"] for one in own if "top" in one]
        gap = [t["probability"] - t["truth"] for t in tops]
        over = float(np.mean([one["seconds"] > 1.5 for one in own]))
        table.append(
            [", ".join(key), len(own), mean("rank"), mean("calibration"),
             float(np.mean(gap)) if gap else None, mean("seconds"), over]
        )  # fmt: skip
    return table


def flags(found: list[dict]) -> list[list]:
    """How often labelled rows are said to be unlike the rest, by what decided who was labelled."""
    kept, table = [one for one in found if one["part"] == "unlike"], []
    for labels in dict.fromkeys(one["labels"] for one in kept):
        own = [one for one in kept if one["labels"] == labels]
        said = [one for one in own if one["unlike"]]
        named = sum(one["column"] == labels for one in said)
        table.append([labels, len(own), len(said), named, sum(o["unlike"] is None for o in own)])
    return table


def tables(found: list[dict]) -> list[tuple]:
    """Return name, title, label, columns, formats and rows of each table."""
    title = "Intervals of 90 % (held-out AUC: 99 %) that hold the truth"
    columns = ["cases", "coverage", "mean width", "P(this few or fewer)", "Holm"]
    formats = ["d", ".3f", ".3f", ".3g", ".3g"]
    return [
        ("hidden-truth", f"{title}, and their mean width", "quantity, labels",
         [f"{signal} signal" for signal in SIGNALS], [""] * 4, by_signal(found)),
        ("", title, "quantity, labels, signal", columns, formats, coverage(found, _SIGNAL)),
        ("", f"{title}, by labels", "quantity, labels",
         columns, formats, coverage(found, _SIZE)),
        ("", f"{title}, by cells", "cell", columns, formats, coverage(found, _CELLS)),
        ("hidden-truth-verdicts", "Verdicts", "part and true signal",
         ["cases", "signal", "no signal", "too few labels", "none", "wrong", "useful but silent"],
         ["d"] * 7, verdicts(found)),
        ("hidden-truth-unlike", "Labelled rows unlike the rest", "what decided on labels",
         ["cases", "said", "column named", "not compared"], ["d"] * 4, flags(found)),
        ("hidden-truth-means", "Ranks, probabilities and seconds", "part, labels, signal",
         ["cases", "mean rank", "calibration error", "top 20: probability minus truth",
          "seconds over budget", "share over 1.5 budgets"],
         ["d", ".2f", ".3f", ".3f", ".2f", ".2f"], means(found)),
    ]  # fmt: skip


def shown(value: float | None, form: str) -> str:
    """Return a cell as text."""
    return "" if value is None else format(value, form)
