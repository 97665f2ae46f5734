"""The parent's side of judging: never imports torch, never runs a candidate."""

from tilesmith.judge.check import Judge

__all__ = ["Judge"]
