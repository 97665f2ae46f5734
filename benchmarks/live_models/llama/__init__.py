"""A decoder in the manner of Llama: RMSNorm, rotary positions, grouped-query attention, SwiGLU."""

from .cache import KeyValueCache
from .config import LlamaConfig
from .model import CausalOutput, Llama

__all__ = ["CausalOutput", "KeyValueCache", "Llama", "LlamaConfig"]
