"""Data that are made, not stored."""

from .poker import make_poker_hands, poker_hand_class

__all__ = ["make_poker_hands", "poker_hand_class"]
