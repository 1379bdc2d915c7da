"""Labels that nobody should pass. They are made of signs: +1, -1, and 0 for rows without one."""

import numpy as np
import pandas as pd

from .rows import ANY, REFUSED, SAME


def _coded(positive, unknown, negative, dtype=None):
    def change(rng, sign):
        values = {1: positive, 0: unknown, -1: negative}
        out = np.empty(len(sign), object)
        out[:] = [values[int(s)] for s in sign]
        return out if dtype is None else np.array(out.tolist(), dtype)

    return change


def _one_wrong(value):
    def change(rng, sign):
        y = sign.astype(object)
        y[rng.integers(len(y))] = value
        return y

    return change


LABELS = {
    "numbers and NaN": (_coded(1.0, np.nan, 0.0, float), SAME),
    "numbers and None": (_coded(1, None, 0), SAME),
    "texts and None": (_coded("yes", None, "no"), SAME),
    "texts and NaN": (_coded("yes", np.nan, "no"), SAME),
    "nullable": (
        lambda r, s: pd.array([{1: 1, 0: None, -1: 0}[int(v)] for v in s], "Int64"),
        SAME,
    ),
    "categories": (
        lambda r, s: pd.Categorical([{1: "b", 0: None, -1: "a"}[int(v)] for v in s]),
        SAME,
    ),
    "three texts": (_coded("yes", "?", "no"), ANY),
    "two texts": (_coded("spam", "pile", "pile"), ANY),
    "bools": (lambda rng, sign: sign > 0, ANY),
    "bools and None": (_coded(True, None, False), ANY),
    "0 and 1": (lambda rng, sign: (sign > 0).astype(int), ANY),
    "one class only": (lambda rng, sign: np.ones(len(sign)), REFUSED),
    "one class and missing": (_coded(1.0, np.nan, np.nan, float), ANY),
    "all unlabelled": (lambda rng, sign: np.full(len(sign), -1), REFUSED),
    "all NaN": (lambda rng, sign: np.full(len(sign), np.nan), REFUSED),
    "all None": (lambda rng, sign: [None] * len(sign), REFUSED),
    "continuous": (lambda rng, sign: rng.normal(size=len(sign)), REFUSED),
    "many classes": (lambda rng, sign: np.arange(len(sign)), REFUSED),
    "one infinite": (_one_wrong(np.inf), ANY),
    "one text": (_one_wrong("x"), ANY),
    "one list": (_one_wrong([1]), REFUSED),
    "one of 2": (_one_wrong(2), ANY),
    "too few": (lambda rng, sign: sign[:-1], REFUSED),
    "too many": (lambda rng, sign: np.append(sign, 1), REFUSED),
    "a column": (lambda rng, sign: sign[:, None], ANY),
    "two columns": (lambda rng, sign: np.stack([sign, sign], 1), REFUSED),
    "empty": (lambda rng, sign: [], REFUSED),
    "None": (lambda rng, sign: None, REFUSED),
    "a number": (lambda rng, sign: 1, REFUSED),
    "a text": (lambda rng, sign: "labels", REFUSED),
    "a dict": (lambda rng, sign: dict(enumerate(sign)), REFUSED),
    "dates": (lambda rng, sign: np.datetime64("2020-01-01") + sign.astype(int), ANY),
    "complex": (lambda rng, sign: sign + 1j, ANY),
    "bytes": (_coded(b"1", b"?", b"0"), ANY),
    "large integers": (_coded(10**30, None, -(10**30)), ANY),
    "series": (lambda rng, sign: pd.Series(sign, index=[3] * len(sign)), ANY),
    "one positive": (lambda rng, sign: (np.arange(len(sign)) == 0).astype(int), ANY),
    "one unlabelled": (lambda rng, sign: (np.arange(len(sign)) > 0).astype(int), ANY),
}
