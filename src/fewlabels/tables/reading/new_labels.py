"""Labels of rows that are added to a model, in the coding of the rows it was fitted to."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import numpy as np

from ..._typing import BoolArray, IntArray, ObjectArray
from ..._util.messages import UserError, listing, quoted, ref
from ...tasks import method_of, task_of
from ..columns.column import are_blank
from ..columns.target import make_target_key


class NewLabels:
    """Reads the target of further rows as the training target was read.

    ``metadata`` is what the model says about itself; the names of the file and the column are for
    messages. ``more`` are classes that it does not have yet. Counts rows by class, rows of
    unknown class, and rows of classes not learned from.
    """

    def __init__(
        self,
        metadata: Mapping[str, Any],
        source: object,
        column: str | None,
        more: Iterable[str] = (),
    ) -> None:
        self.source, self.column = source, column
        training = metadata["training"]
        task = task_of(method_of(metadata))
        self._takes_labels = task.takes_labels
        self._unlabeled = task.unlabelled
        self._names = task.class_names(training)
        self._names |= dict(enumerate(more, start=len(self._names)))
        named = {label: name for label, name in self._names.items() if name is not None}
        self._key = make_target_key(training)
        self._label_of = {self._key(name): label for label, name in named.items()}
        if training.get("unlabeled"):
            self._label_of.setdefault(self._key(training["unlabeled"]), self._unlabeled)
        self.n_labeled: Counter[str | None] = Counter()
        self.n_unlabeled = self.n_left_out = 0

    def read(
        self, values: ObjectArray | None, complete: BoolArray, first_row: int
    ) -> tuple[BoolArray, IntArray | None]:
        """Return which ``complete`` rows are learned from, and their labels (None for one class).

        Without ``values`` rows are of unknown class, for models of one class of that class.
        """
        if values is not None:
            label = self._encode(values, first_row)
        else:
            label = np.full(len(complete), self._unlabeled if self._takes_labels else 0)
        keep = complete if self._takes_labels else complete & (label >= 0)
        kind: type[np.signedinteger[Any]] = np.int8 if len(self._names) < 100 else np.int64
        y = label[keep].astype(kind)
        for one, name in self._names.items():
            self.n_labeled[name] += int(np.count_nonzero(y == one))
        self.n_unlabeled += int(np.count_nonzero(~np.isin(y, list(self._names))))
        self.n_left_out += int(np.count_nonzero(complete & ~keep))
        return keep, y if self._takes_labels else None

    def _encode(self, values: ObjectArray, first_row: int) -> IntArray:
        import pandas as pd

        codes, texts = pd.factorize(np.asarray(values, dtype=object))
        labels = []
        for k, (text, is_blank) in enumerate(zip(texts, are_blank(texts), strict=True)):
            label = self._unlabeled if is_blank else self._label_of.get(self._key(text))
            if label is None and self._takes_labels:
                self._refuse(text, first_row + int(np.argmax(codes == k)))
            labels.append(self._unlabeled if label is None else label)
        return np.array(labels)[codes]

    def _refuse(self, text: str, row: int) -> NoReturn:
        names = " and ".join(quoted(name) for name in self._names.values())
        if len(self._names) > 2:
            names = listing(self._names.values())
        noun = "class of the model is" if len(self._names) == 1 else "classes of the model are"
        new = ""
        if self._unlabeled == -1:
            new = f"pass {ref('new_classes', text=text)} if it is another class, "
        raise UserError(
            f"Row {row} of {self.source} has {quoted(text)} in the target column "
            f"{quoted(self.column)}, but the {noun} {names}; correct it, leave it blank, {new}or "
            f"pass {ref('no_labels', True)} to add all rows as unlabelled."
        )
