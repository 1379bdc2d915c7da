"""Labels of rows that are added to a model, in the coding of the rows it was fitted to."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ..errors import UserError
from ..models.machines import MACHINES
from .columns import blank
from .target import value_key


class NewLabels:
    """Reads the target of further rows as that of the training rows was read.

    ``metadata`` is what the model says about itself; the names of the file and the column are for
    messages. Counts what was read so far: ``n_labeled`` by class, ``n_unlabeled`` of unknown
    class, ``n_left_out`` of classes that the machine does not learn from.
    """

    def __init__(self, metadata, source, column):
        self.source, self.column = source, column
        training = metadata["training"]
        learns_from = MACHINES[metadata["machine"]].learns_from
        self._one_class = learns_from == "normal"
        if learns_from == "classes":
            self._names = dict(enumerate(training["classes"]))
        elif learns_from == "positive":
            self._names = {1: training["positive"]}
        else:
            self._names = {0: training["normal"]}
        self._unlabeled = 0 if learns_from == "positive" else -1
        self._label_of = {
            value_key(name): label for label, name in self._names.items() if name is not None
        }
        if training.get("unlabeled"):
            self._label_of.setdefault(value_key(training["unlabeled"]), self._unlabeled)
        self.n_labeled = Counter()
        self.n_unlabeled = self.n_left_out = 0

    def read(self, values, complete, first_row):
        """Which rows of a piece are learnt from, and their labels (None for one class).

        Without ``values`` rows are of unknown class, for machines of one class of that class.
        ``complete`` are the rows that can be used at all; the first row's number is for messages.
        """
        if values is not None:
            label = self._coded(values, first_row)
        else:
            label = np.full(len(complete), 0 if self._one_class else self._unlabeled)
        keep = complete & (label >= 0) if self._one_class else complete
        y = label[keep].astype(np.int8)
        for one, name in self._names.items():
            self.n_labeled[name] += int(np.count_nonzero(y == one))
        self.n_unlabeled += int(np.count_nonzero(~np.isin(y, list(self._names))))
        self.n_left_out += int(np.count_nonzero(complete & ~keep))
        return keep, None if self._one_class else y

    def _coded(self, values, first_row):
        import pandas as pd

        codes, texts = pd.factorize(np.asarray(values, dtype=object))
        labels = []
        for k, (text, is_blank) in enumerate(zip(texts, blank(texts), strict=True)):
            label = self._unlabeled if is_blank else self._label_of.get(value_key(text))
            if label is None and not self._one_class:
                self._refuse(text, first_row + int(np.argmax(codes == k)))
            labels.append(self._unlabeled if label is None else label)
        return np.array(labels)[codes]

    def _refuse(self, text, row):
        names = " and ".join(f"'{name}'" for name in self._names.values())
        known = f"the classes of the model are {names}"
        if len(self._names) == 1:
            known = f"the class of the model is {names}"
        raise UserError(
            f"Row {row} of {self.source} has '{text}' in the target column '{self.column}', but "
            f"{known}; correct it, leave it blank, or pass --no-labels to add all rows as "
            "unlabelled."
        )
