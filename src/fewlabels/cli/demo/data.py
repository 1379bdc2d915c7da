"""The data of the demo: scikit-learn's bundled sets, one class held as normal."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits

from ..._typing import AnyArray, BoolArray
from ...tables.atomic import replacing


@dataclass
class Split:
    """Rows to learn from and rows to score, as data frames of measurements.

    ``classes`` has one class per test row, ``normal`` is the class that is learned, ``scale`` says
    whether numbers need scaling (pixels have one unit already), ``story`` what it is about.
    """

    train: pd.DataFrame
    test: pd.DataFrame
    classes: AnyArray
    normal: str
    scale: bool
    story: str

    @property
    def is_normal(self) -> BoolArray:
        """Return a mask of the test rows of the normal class."""
        return self.classes == self.normal


def split_data(name: str, digit: int) -> Split:
    """Return two thirds of the normal rows to learn from, and all other rows to score."""
    if name == "digits":
        data = load_digits(as_frame=True)
        classes = data.target.astype(str).to_numpy()
        normal, scale = str(digit), False
        story = (
            "scikit-learn's digits: 1,797 scanned digits of 8 x 8 pixels. The model is "
            f"trained on {digit}s only, and must reject all other digits."
        )
    else:
        data = load_breast_cancer(as_frame=True)
        classes = np.array(data.target_names)[data.target]
        normal, scale = "benign", True
        story = (
            "Wisconsin breast cancer (scikit-learn): 569 biopsies with 30 measurements. The model "
            "is trained on benign ones only, and must reject the malignant ones."
        )
    chosen = np.random.default_rng(0).permutation(np.flatnonzero(classes == normal))
    train = np.sort(chosen[: 2 * len(chosen) // 3])
    test = np.setdiff1d(np.arange(len(classes)), train)
    frame = data.data
    return Split(frame.iloc[train], frame.iloc[test], classes[test], normal, scale, story)


def write_split(split: Split, folder: Path) -> tuple[Path, Path]:
    """Write the rows as tables: train.csv, and test.csv with the column "class"."""
    files = folder / "train.csv", folder / "test.csv"
    for path, frame in zip(
        files, (split.train, split.test.assign(**{"class": split.classes})), strict=True
    ):
        with replacing(path) as temporary:
            frame.to_csv(temporary, index=False)
    return files
