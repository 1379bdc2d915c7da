"""Sets of two or more classes: tables of numbers, and texts as their words."""

import numpy as np
import pandas as pd
import scipy.sparse as sp

from fewlabels.tables.columns.target import choose_all_rows
from fewlabels.tables.encoding.fit import fit_encoder
from fewlabels.tables.reading.options import ColumnOptions
from fewlabels.tables.reading.training import read_training
from fewlabels.tables.user_data import make_source

POOL, OTHERS = 500, 1000
# Every other set was in sight when the model and the rules of asking were chosen.
CHOSEN_ON = (
    "ionosphere", "chapelle_g50c", "adbench_cardio", "diabetes", "adbench_magic_gamma",
    "adbench_landsat", "cod_rna", "ssl_text", "news_rec_sci",
)  # fmt: skip
UNSEEN = (
    "heart_statlog", "adbench_breastw", "australian", "usmo_krvskp", "phishing", "a9a",
    "ssl_coil2", "chapelle_text", "news_other",
)  # fmt: skip
TEXTS = ("ssl_text", "chapelle_text", "news_rec_sci", "news_other")
# Groups of mini newsgroups by the beginnings of their names, and so the classes.
_GROUPS = {
    "news_rec_sci": (("rec.",), ("sci.",)),
    "news_other": (
        ("comp.",), ("talk.politics",), ("soc.rel", "alt.ath", "talk.rel"), ("misc.",),
    ),
}  # fmt: skip


def draw_of(folder, name, draw):
    """A pool and other rows of a set: frames, and codes of their classes."""
    frame, y = _text(folder, name) if name in TEXTS else _numbers(folder, name)
    rows = np.random.default_rng(draw).permutation(len(y))
    n = min(POOL, int(0.6 * len(y)))
    parts = rows[:n], rows[n : n + OTHERS]
    return [(frame.iloc[part].reset_index(drop=True), y[part]) for part in parts]


def text_columns(name):
    """Columns of texts."""
    return ["text"] if name in TEXTS else []


def encoder_of(name, frame):
    """Return an encoder that turns frames into the numbers that a session learns from."""
    source = make_source(frame)
    file = read_training(source, ColumnOptions(text=text_columns(name)))
    chosen = file.choose(choose_all_rows(file.n_rows), known=None)
    return fit_encoder(chosen.schema, chosen.rows, source)[0]


def _numbers(folder, name):
    found = np.load(folder / f"{name}.npz")
    frame = pd.DataFrame(found["X"].astype(float)).add_prefix("x")
    return frame, np.unique(found["y"], return_inverse=True)[1]


def _text(folder, name):
    """Rows as the words that they have, by numbers; how often only where it is known."""
    file = "mini_newsgroups" if name in _GROUPS else name
    X = sp.csr_array(sp.load_npz(folder / f"{file}_X.npz"))
    about = np.load(folder / f"{file}_y.npz")
    y = np.unique(about["y"], return_inverse=True)[1]
    if name in _GROUPS:
        named = [
            next((k for k, some in enumerate(_GROUPS[name]) if group.startswith(some)), -1)
            for group in about["groups"]
        ]
        y = np.array(named)[y]
        X, y = X[y >= 0], y[y >= 0]
        counts = X.data.astype(int)
    else:
        counts = np.ones(X.nnz, dtype=int)
    texts = []
    for first, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        words = np.repeat(X.indices[first:end], counts[first:end])
        texts.append(" ".join(f"w{word}" for word in words))
    return pd.DataFrame({"text": texts}), y
