"""Data of the demo: bundled sets with one class held as normal, and random poker hands."""

from dataclasses import dataclass
from itertools import combinations
from numbers import Integral
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.utils import check_array, check_random_state

from ..._typing import AnyArray, BoolArray, IntArray
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


# A deck, and the cards of a hand.
_CARDS = 52
_SUITS = 4
_RANKS = 13
_HAND = 5
# Classes of hands without a straight or flush, by how many pairs of cards have equal rank.
_CLASS_OF_EQUAL_PAIRS = np.array([0, 1, 2, 3, 6, 0, 7])
# Classes of the other hands.
_STRAIGHT = 4
_FLUSH = 5
_STRAIGHT_FLUSH = 8
_ROYAL_FLUSH = 9
# Ace, ten, jack, queen, king: the ace also ends a straight.
_HIGH_STRAIGHT = np.array([1, 10, 11, 12, 13])


def make_poker_hands(
    n_samples: int, *, random_state: int | np.random.RandomState | None = None
) -> tuple[IntArray, IntArray]:
    """Return random hands of five cards and their classes, as in the UCI set Poker-hand.

    Every ordered choice of five different cards of 52 is equally likely. (The UCI training file is
    not quite like this: it has more straight flushes and royal flushes.)

    Parameters
    ----------
    n_samples : int
        Number of hands, > 0.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    X : ndarray of int64 of shape (n_samples, 10)
        Suit (1 to 4) and rank (1, the ace, to 13, the king) of each of the five cards:
        suit1, rank1, suit2, and so on.
    y : ndarray of int64 of shape (n_samples,)
        Class, see :func:`poker_hand_class`.

    References
    ----------
    Cattral, R., Oppacher, F. (2002). Poker Hand. UCI Machine Learning Repository.

    Examples
    --------
    >>> from fewlabels.cli.demo.data import make_poker_hands
    >>> X, y = make_poker_hands(100_000, random_state=0)
    >>> bool(abs((y == 1).mean() - 0.4226) < 0.005)  # one pair
    True
    """
    if not isinstance(n_samples, Integral) or n_samples < 1:
        raise ValueError(f"n_samples={n_samples!r} is not allowed; pass a whole number > 0.")
    cards = _deal(int(n_samples), check_random_state(random_state))
    X = np.empty((len(cards), 2 * _HAND), dtype=np.int64)
    X[:, 0::2] = cards // _RANKS + 1
    X[:, 1::2] = cards % _RANKS + 1
    return X, _classes(X[:, 0::2], X[:, 1::2])


def poker_hand_class(X: npt.ArrayLike) -> IntArray:
    """Return the class of each hand, by the rules of poker.

    Parameters
    ----------
    X : array-like of shape (n, 10)
        Hands: suit (1 to 4) and rank (1 to 13) of each of five different cards.

    Returns
    -------
    ndarray of int64 of shape (n,)
        0 nothing, 1 one pair, 2 two pairs, 3 three of a kind, 4 straight, 5 flush,
        6 full house, 7 four of a kind, 8 straight flush, 9 royal flush. The ace counts as
        one and as fourteen in straights.

    Examples
    --------
    >>> from fewlabels.cli.demo.data import poker_hand_class
    >>> poker_hand_class([[1, 10, 1, 11, 1, 13, 1, 12, 1, 1], [1, 5, 2, 5, 3, 5, 1, 9, 2, 9]])
    array([9, 6])
    """
    hands: IntArray = check_array(X, input_name="X")
    if hands.shape[1] != 2 * _HAND:
        raise ValueError(
            f"a hand has {2 * _HAND} numbers, suit and rank of each of five cards; "
            f"X has {hands.shape[1]} columns."
        )
    suit, rank = hands[:, 0::2], hands[:, 1::2]
    is_valid = np.isin(suit, np.arange(1, _SUITS + 1)) & np.isin(rank, np.arange(1, _RANKS + 1))
    if not is_valid.all():
        row = int(np.flatnonzero(~is_valid.all(axis=1))[0])
        raise ValueError(
            f"row {row} of X is {hands[row].tolist()}; suits must be 1 to {_SUITS} and ranks 1 to "
            f"{_RANKS}."
        )
    cards = np.sort((suit - 1) * _RANKS + rank, axis=1)
    is_repeated = (cards[:, 1:] == cards[:, :-1]).any(axis=1)
    if is_repeated.any():
        row = int(np.flatnonzero(is_repeated)[0])
        raise ValueError(
            f"row {row} of X holds a card twice: {hands[row].tolist()}; pass hands of one deck."
        )
    return _classes(suit, rank)


def _deal(n: int, rng: np.random.RandomState) -> IntArray:
    """Deal five different cards per row, 0 to 51, every ordered choice equally likely."""
    cards = np.empty((n, _HAND), dtype=np.int64)
    for n_dealt in range(_HAND):
        # The k-th of the cards that are left: step over those that are gone, lowest first.
        card = rng.randint(_CARDS - n_dealt, size=n)
        for dealt in np.sort(cards[:, :n_dealt], axis=1).T:
            card += card >= dealt
        cards[:, n_dealt] = card
    return cards


def _classes(suit: IntArray, rank: IntArray) -> IntArray:
    equal_pairs = sum(
        (rank[:, i] == rank[:, j]).astype(np.intp) for i, j in combinations(range(_HAND), 2)
    )
    y = _CLASS_OF_EQUAL_PAIRS[equal_pairs]
    rank = np.sort(rank, axis=1)
    is_royal = (rank == _HIGH_STRAIGHT).all(axis=1)
    is_straight = is_royal | ((equal_pairs == 0) & (rank[:, -1] - rank[:, 0] == _HAND - 1))
    is_flush = (suit == suit[:, :1]).all(axis=1)
    y[is_straight] = _STRAIGHT
    y[is_flush] = _FLUSH
    y[is_straight & is_flush] = _STRAIGHT_FLUSH
    y[is_royal & is_flush] = _ROYAL_FLUSH
    return y
