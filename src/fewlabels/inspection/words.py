"""Which words of a text drive the score of its row."""

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from .._typing import FloatArray

# Different words of a text that are taken out one by one, and rows scored at a time.
_MOST_WORDS, _AT_A_TIME = 300, 2000


def word_changes(
    function: Callable[[pd.DataFrame], FloatArray],
    rows: pd.DataFrame,
    column: str,
    spans: Callable[[str], Iterable[tuple[int, int]]],
) -> list[list[tuple[str, float]]]:
    """Return how much the score of each row loses without each word of its text.

    Parameters
    ----------
    function : callable
        Scores of rows of a DataFrame; of several classes the one that is greatest counts.
    rows : DataFrame
        Rows to explain.
    column : str
        The column of texts.
    spans : callable
        Where the words of a text begin and end.

    Returns
    -------
    list of list of tuple
        For every row its words, in small letters, with the change: positive for words that raise
        the score. All places of a word are taken out together, so the changes need not add up.
    """
    groups, texts, owner = [], [], []
    for k, text in enumerate(rows[column]):
        text = text if isinstance(text, str) else ""
        places: dict[str, list[tuple[int, int]]] = {}
        for start, end in spans(text):
            places.setdefault(text[start:end].lower(), []).append((start, end))
        words = list(places)[:_MOST_WORDS]
        groups.append(words)
        texts += [text, *(_without(text, places[word]) for word in words)]
        owner += [k] * (1 + len(words))
    scores = []
    for start in range(0, len(texts), _AT_A_TIME):
        part = slice(start, start + _AT_A_TIME)
        changed = rows.iloc[owner[part]].reset_index(drop=True)
        changed[column] = pd.Series(texts[part], dtype=rows[column].dtype)
        scores.append(np.asarray(function(changed), dtype=float))
    every, place, found = np.concatenate(scores) if scores else np.zeros(0), 0, []
    for words in groups:
        mine = every[place : place + 1 + len(words)]
        if mine.ndim == 2:
            mine = mine[:, int(np.argmax(mine[0]))]
        changes = mine[0] - mine[1:]
        order = np.argsort(-np.abs(changes), kind="stable")
        found.append([(words[j], float(changes[j])) for j in order])
        place += 1 + len(words)
    return found


def _without(text: str, places: list[tuple[int, int]]) -> str:
    """Return a text without the words at these places."""
    ends = [0, *(end for _, end in places)]
    starts = [*(start for start, _ in places), len(text)]
    return "".join(text[a:b] for a, b in zip(ends, starts, strict=True))
