"""Rows to score that have a label already: how often the model agrees with it."""

from collections import Counter

import numpy as np

from ..io.tables.columns import blank
from ..io.tables.target import value_key
from ..tasks.classification import CLASSIFICATION
from ..tasks.machines import task_of
from ..tasks.one_class import ONE_CLASS


class KnownLabels:
    """Counts labelled rows by class, and how many of them get their own label from the model.

    ``column`` is the target of the model with this ``metadata``; None if there is nothing to
    compare. Values that are no class of the model count as no label.
    """

    def __init__(self, metadata):
        training, task = metadata["training"], task_of(metadata["machine"])
        self.column = None if task is ONE_CLASS else training.get("target")
        names = training["classes"] if task is CLASSIFICATION else [training.get(task.key)]
        self._merge_case = training.get("merge_case", False)
        self._name_of = {self._key(str(name)): str(name) for name in names if name is not None}
        self.rows, self.agreeing = Counter(), Counter()

    def count(self, texts, labels):
        """Count rows by their ``texts`` in the target, and the ``labels`` they get."""
        import pandas as pd

        codes, given = pd.factorize(np.asarray(texts, dtype=object))
        for k, (text, is_blank) in enumerate(zip(given, blank(given), strict=True)):
            name = None if is_blank else self._name_of.get(self._key(text))
            if name is not None:
                rows = codes == k
                self.rows[name] += int(rows.sum())
                self.agreeing[name] += int(np.sum(labels[rows] == name))

    def update(self, other):
        """Take over the counts of other rows."""
        self.rows.update(other.rows)
        self.agreeing.update(other.agreeing)

    def _key(self, text):
        return value_key(text, self._merge_case)
