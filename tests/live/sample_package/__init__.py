"""A small model as people write them: relative imports, a configuration, a cache, a dictionary as its output."""

from .config import ModelConfig
from .model import TinyModel

__all__ = ["ModelConfig", "TinyModel"]
