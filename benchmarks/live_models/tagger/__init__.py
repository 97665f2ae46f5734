"""A tagger of words: an embedding, a bidirectional LSTM, a norm and a linear layer."""

from .config import TaggerConfig
from .model import Tagger

__all__ = ["Tagger", "TaggerConfig"]
