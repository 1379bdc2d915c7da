"""Several strategies by turns."""

from collections.abc import Iterator, Sequence

import numpy as np

from .._typing import FloatArray, RandomStateLike
from .base import Choice, Question, Strategy, check_whole_number
from .uncertainty import Random, Uncertain


class Mixed(Strategy):
    """Strategies by turns, so that estimates over the random rows hold while others learn fast.

    Parameters
    ----------
    parts : sequence of (Strategy, float), default=None
        Strategies and how often each is queried, in proportion. By default ``Random`` for a
        quarter of the rows and ``Uncertain`` for the others.
    first : Strategy, default=None
        What is queried while fewer than ``n_first`` rows have labels; by default nothing is.
    n_first : int, default=20
        Number of labels before the parts take turns, >= 1.
    missing_label, random_state
        As of all strategies.
    """

    def __init__(
        self,
        parts: Sequence[tuple[Strategy, float]] | None = None,
        missing_label: object = np.nan,
        random_state: RandomStateLike = None,
        *,
        first: Strategy | None = None,
        n_first: int = 20,
    ) -> None:
        super().__init__(missing_label, random_state)
        if parts is None:
            settings = dict(missing_label=missing_label, random_state=self._rng)
            parts = [(Random(**settings), 0.25), (Uncertain(**settings), 0.75)]
        self.parts = [(strategy, float(share)) for strategy, share in parts]
        if not self.parts or any(not 0 < share < np.inf for _, share in self.parts):
            raise ValueError("parts must be strategies, each with a number > 0.")
        self._n_queried = np.zeros(len(self.parts))
        self.first, self.n_first = first, check_whole_number("n_first", n_first)

    def utilities(self, question: Question) -> FloatArray:
        return next(iter(self.choose(question, 1)))[1]

    def choose(self, question: Question, batch_size: int) -> Iterator[Choice]:
        candidates, n_labels = question.candidates, int(question.labeled.sum())
        for number in range(batch_size):
            now = type(question)(
                question.X,
                question.y,
                question.labeled,
                question.clf,
                candidates,
                question.decisions,
                question.classes,
            )
            row, values, why = next(iter(self.choose_strategy(n_labels + number).choose(now, 1)))
            candidates = candidates[candidates != row]
            yield row, values, why

    def choose_strategy(self, n_labels: int) -> Strategy:
        """Return the strategy whose turn it is when ``n_labels`` rows have labels."""
        if self.first is not None and n_labels < self.n_first:
            return self.first
        shares = np.array([share for _, share in self.parts])
        place = int(
            np.argmax(shares / shares.sum() * (self._n_queried.sum() + 1.0) - self._n_queried)
        )
        self._n_queried[place] += 1.0
        return self.parts[place][0]
