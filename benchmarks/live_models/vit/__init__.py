"""A vision transformer in the manner of CLIP: norms in float32, QuickGELU, a class token."""

from .config import VitConfig
from .model import VisionTransformer

__all__ = ["VisionTransformer", "VitConfig"]
