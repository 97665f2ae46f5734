"""What each verdict means and what to do about it, for whoever repairs the kernel."""

from __future__ import annotations

from typing import NamedTuple

from tilesmith.records import Verdict


class VerdictMeaning(NamedTuple):
    meaning: str
    to_do: str


MEANINGS: dict[Verdict, VerdictMeaning] = {
    Verdict.PASSED: VerdictMeaning(
        "As accurate as PyTorch, memory-safe and deterministic on every input it was judged on.",
        "Read `timing.speedup`: right is not yet faster. Without a GPU nothing is timed.",
    ),
    Verdict.SYNTAX_ERROR: VerdictMeaning("The file is not Python.", "Correct the line that the reason names."),
    Verdict.COMPILE_ERROR: VerdictMeaning(
        "Triton refuses the kernel, or it does not fit the GPU it is compiled for.",
        "Read the reason and the findings; explain the id of a finding for its lesson.",
    ),
    Verdict.RUNTIME_ERROR: VerdictMeaning(
        "The file, the constructor or `forward` raised an exception.",
        "Keep the constructor, `forward` and the state_dict keys of the task's Model.",
    ),
    Verdict.WRONG_SHAPE: VerdictMeaning(
        "An output has another shape, type or structure than PyTorch's.",
        "Return the same nest of tensors with the same shapes and dtypes.",
    ),
    Verdict.WRONG_VALUES: VerdictMeaning(
        "The values are far from the truth in float64.",
        "Look for a wrong index, mask, stride or formula; the reason names where and on which inputs.",
    ),
    Verdict.INACCURATE: VerdictMeaning(
        "The values are close, but with several times PyTorch's own error.",
        "Accumulate in float32, cast at the store, and say the precision of tl.dot.",
    ),
    Verdict.UNSAFE_MEMORY: VerdictMeaning(
        "A load or store went past the end of a tensor, or two programs wrote to one place.",
        "Mask loads and stores: mask=offs < n.",
    ),
    Verdict.NONDETERMINISTIC: VerdictMeaning(
        "The same inputs gave different results.",
        "Remove races between programs; reduce without relying on the order of atomics.",
    ),
    Verdict.TIMEOUT: VerdictMeaning(
        "A step took longer than it may: an endless loop, or programs that wait for one another.",
        "Bound every loop, and never wait for a program that may not have started.",
    ),
    Verdict.CRASHED: VerdictMeaning(
        "The kernel's process died.", "Check pointers and sizes; do not end, fork or signal processes."
    ),
    Verdict.OUT_OF_MEMORY: VerdictMeaning(
        "The kernel needs more memory than there is.", "Make tiles and temporary tensors smaller."
    ),
    Verdict.CHEATING: VerdictMeaning(
        "The result is not computed by Triton kernels in the timed call; the reason names what was done.",
        "Compute the whole result from the inputs in every call. Remember nothing and patch nothing.",
    ),
    Verdict.UNSUPPORTED: VerdictMeaning(
        "Honest code that is not Triton: a C++ extension or torch.compile.", "Write @triton.jit kernels."
    ),
}
