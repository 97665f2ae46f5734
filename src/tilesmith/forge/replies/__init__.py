"""What is in a reply: the kernel or the analysis, however it was wrapped; or why it is of no use.

Replies come from models and are trusted with nothing: any text ends in a result or in `UnusableReply`, and soon.
"""

from tilesmith.forge.replies.analysis_extraction import extract_analysis
from tilesmith.forge.replies.kernel_extraction import extract_kernel
from tilesmith.forge.replies.unusable_reply import UnusableReply

__all__ = ["UnusableReply", "extract_analysis", "extract_kernel"]
