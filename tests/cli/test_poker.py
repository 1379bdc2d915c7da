"""Poker hands against the rules written down by hand, exact counts, and the UCI file."""

import os
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from fewlabels.cli.demo.data import make_poker_hands, poker_hand_class

# How many of the C(52, 5) hands each class has.
COUNTS = [1302540, 1098240, 123552, 54912, 10200, 5108, 3744, 624, 36, 4]


def class_by_hand(hand):
    """The class of one hand, slowly, from counts of ranks."""
    suits, ranks = hand[0::2], sorted(hand[1::2])
    shape = sorted(Counter(ranks).values(), reverse=True)
    runs = [list(range(low, low + 5)) for low in range(1, 10)] + [[1, 10, 11, 12, 13]]
    straight, flush = ranks in runs, len(set(suits)) == 1
    if straight and flush:
        return 9 if ranks == runs[-1] else 8
    if straight or flush:
        return 5 if flush else 4
    shapes = [[1] * 5, [2, 1, 1, 1], [2, 2, 1], [3, 1, 1], None, None, [3, 2], [4, 1]]
    return shapes.index(shape)


@pytest.mark.parametrize(
    ("ranks", "suits", "expected"),
    [
        ([1, 2, 3, 4, 5], [1, 2, 1, 1, 1], 4),
        ([13, 10, 1, 12, 11], [1, 2, 1, 1, 1], 4),
        ([2, 1, 13, 12, 11], [1, 2, 1, 1, 1], 0),  # a straight does not go around the corner
        ([5, 1, 3, 2, 4], [2, 2, 2, 2, 2], 8),
        ([13, 10, 1, 12, 11], [4, 4, 4, 4, 4], 9),
        ([9, 10, 13, 12, 11], [4, 4, 4, 4, 4], 8),
        ([1, 3, 5, 7, 9], [3, 3, 3, 3, 3], 5),
        ([7, 7, 7, 7, 1], [1, 2, 3, 4, 1], 7),
        ([7, 1, 7, 1, 7], [1, 2, 3, 4, 4], 6),
        ([7, 1, 7, 2, 7], [1, 2, 3, 4, 4], 3),
        ([7, 1, 7, 1, 3], [1, 2, 3, 4, 4], 2),
        ([7, 1, 7, 4, 5], [1, 2, 3, 4, 4], 1),
    ],
)
def test_hands_that_people_name(ranks, suits, expected):
    hand = np.column_stack([suits, ranks]).reshape(1, 10)
    assert poker_hand_class(hand)[0] == expected == class_by_hand(hand[0].tolist())


def test_every_hand_of_a_small_deck(rng):
    # Ten ranks would leave no room for high straights: all hands of ten cards, twenty times.
    deck = np.array([(suit, rank) for suit in (1, 2, 3, 4) for rank in range(1, 14)])
    for _ in range(20):
        cards = deck[rng.permutation(52)[:10]]
        hands = np.array([cards[list(c)].ravel() for c in combinations(range(10), 5)])
        assert poker_hand_class(hands).tolist() == [class_by_hand(h) for h in hands.tolist()]


def test_rare_classes_against_rules(rng):
    # Few ranks and suits, so that full houses, straights and flushes abound.
    for ranks, suits in [
        ((1, 10, 11, 12, 13), (1, 2)),
        ((2, 3), (1, 2, 3, 4)),
        (range(5, 12), (3,)),
    ]:
        cards = [(s, r) for s in suits for r in ranks]
        hands = np.array([np.ravel(c) for c in combinations(cards, 5)])
        hands = hands.reshape(-1, 5, 2)[:, rng.permutation(5)].reshape(-1, 10)
        assert poker_hand_class(hands).tolist() == [class_by_hand(h) for h in hands.tolist()]


def test_frequencies_are_those_of_all_hands(seed):
    n = 400_000
    X, y = make_poker_hands(n, random_state=seed)
    counts, share = np.bincount(y, minlength=10), np.array(COUNTS) / sum(COUNTS)
    # Six deviations, plus one hand for the classes that hardly occur.
    assert np.all(np.abs(counts - n * share) <= 6.0 * np.sqrt(n * share) + 1.0)
    suit, rank = X[:, 0::2], X[:, 1::2]
    assert suit.min() == rank.min() == 1 and suit.max() == 4 and rank.max() == 13
    cards = np.sort(13 * suit + rank, axis=1)
    assert np.all(np.diff(cards, axis=1) > 0), "a card was dealt twice"


def test_every_card_everywhere_equally_often(seed):
    n = 200_000
    X, _ = make_poker_hands(n, random_state=seed)
    for place in range(5):
        counts = np.bincount(13 * (X[:, 2 * place] - 1) + X[:, 2 * place + 1] - 1, minlength=52)
        assert np.all(np.abs(counts - n / 52) <= 6.0 * np.sqrt(n / 52)), place


def test_classes_belong_to_the_hands(seed):
    X, y = make_poker_hands(2000, random_state=seed)
    assert y.tolist() == [class_by_hand(hand) for hand in X.tolist()]
    again, _ = make_poker_hands(2000, random_state=seed)
    assert np.array_equal(X, again)
    assert not np.array_equal(X, make_poker_hands(2000, random_state=seed + 1)[0])
    shared = np.random.RandomState(seed)
    first, _ = make_poker_hands(10, random_state=shared)
    assert np.array_equal(first, make_poker_hands(10, random_state=seed)[0])
    assert not np.array_equal(first, make_poker_hands(10, random_state=shared)[0])


def test_uci_training_file():
    folder = os.environ.get("FEWLABELS_DATA")
    path = Path(folder or ".") / "poker_hand_train.npz"
    if not path.is_file():
        pytest.skip("set FEWLABELS_DATA to the folder with poker_hand_train.npz")
    with np.load(path) as stored:
        X, y = stored["X"], stored["y"]
    assert X.shape == (25010, 10)
    assert np.array_equal(poker_hand_class(X), y)


@pytest.mark.parametrize("n_samples", [0, -1, 2.5, "many", None])
def test_number_of_hands_is_checked(n_samples):
    with pytest.raises(ValueError, match="pass a whole number > 0"):
        make_poker_hands(n_samples)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([1, 1, 1, 2, 1, 3, 1, 4, 1, 14], "ranks 1 to 13"),
        ([0, 1, 1, 2, 1, 3, 1, 4, 1, 5], "suits must be 1 to 4"),
        ([1, 1.5, 1, 2, 1, 3, 1, 4, 1, 5], "ranks 1 to 13"),
        ([1, 1, 1, 2, 1, 3, 1, 4, 1, 1], "a card twice"),
        ([1, 1, 1, 2, 1, 3, 1, 4], "X has 8 columns"),
    ],
)
def test_what_is_no_hand_is_refused(row, message):
    with pytest.raises(ValueError, match=message):
        poker_hand_class([row])
