"""The parent's side of judging: never imports torch, never runs a candidate."""

from tilesmith.judge.judge import Judge

__all__ = ["Judge"]
