from __future__ import annotations

import pytest
from sample_run import EVENTS, attempted, called, evaluation

from tilesmith.records import (
    Analysis,
    ConfirmationEvent,
    DecisionEvent,
    Event,
    FinishedEvent,
    Phase,
    RefusalEvent,
    Verdict,
)
from tilesmith.runs.event_text import (
    LONGEST,
    clock_text,
    describe_event,
    money_text,
    one_line,
    plan_text,
    score_text,
)

LINES = [
    "survey  39_GRU  NVIDIA GeForce RTX 4090  at least 0.5 ms, bound by memory",
    "call 1  seed  14,000 + 34 tokens  $0.0100  2.0 s",
    "call 2  seed  12,000 + 24 tokens  $0.0100  4.0 s",
    "call 3  seed  100 + 10 tokens  $0.0100  2.0 s  cut off",
    "kernel 1  seed  compile_error  dropped: 'h_prev[k_ids]': use tl.load",
    "kernel 2  seed  passed  0.12x  kept: first to pass: 0.12x",
    "call 3  seed  refused: cut off by the token limit",
    "call 4  repair  1,000 + 200 tokens  $0.0100  2.0 s",
    "call 4  repair  refused: no python code block in the reply",
    "call 5  analyze  4,886 + 0 tokens  $0.0100  2.0 s",
    "analysis of kernel 2  of no use: not a JSON object",
    "call 6  analyze  4,345 + 0 tokens  $0.0100  2.0 s  2 retries",
    "analysis of kernel 2  6150 launches, one per time step  "
    "to do: one persistent kernel (persistent, 2.5x expected)",
    "call 7  optimize  22,542 + 0 tokens  price unknown  2.0 s",
    "kernel 3  optimize  wrong_values  dropped: 'h_prev[k_ids]': use tl.load",
    "call 8  repair  1,000 + 200 tokens  $0.0100  2.0 s",
    "kernel 4  repair  passed  1.37x  kept: faster than the best so far: 1.37x after 0.12x",
    "decision  stage grid: skipped: persistent_recurrent, complexity persistent",
    "call 9  stage  1,000 + 200 tokens  $0.0100  2.0 s",
    "kernel 5  stage block  passed  0.090x  dropped: slower than the best so far",
    "decision  stop: the target is met",
    "confirm kernel 4  passed 1.36x  7.0 s",
    "finished  kernel 4 is right, and 1.36x as fast as its best baseline",
]


@pytest.mark.parametrize(("event", "line"), list(zip(EVENTS, LINES, strict=True)), ids=lambda one: str(one)[:30])
def test_every_event_in_one_line(event: Event, line: str) -> None:
    assert describe_event(event) == line


def test_a_call_without_tokens_names_its_author() -> None:
    assert describe_event(called(1, Phase.SEED, (0, 0))) == "call 1  seed  gpt-x  2.0 s"


def test_a_failed_confirmation_says_why() -> None:
    line = describe_event(ConfirmationEvent(4, evaluation(Verdict.INACCURATE), None, 7.0))
    assert line == "confirm kernel 4  failed: inaccurate: 'h_prev[k_ids]': use tl.load  7.0 s"


@pytest.mark.parametrize(
    "event",
    [
        RefusalEvent(1, Phase.SEED, "\x1b[31mred\x1b[0m\r\n\x07" + "x" * 10_000),
        DecisionEvent("a\nb", "\x9b2J\u202e" + "y " * 5_000),
        attempted(1, Phase.SEED, None, evaluation(Verdict.CRASHED), False, "\x1b]0;title\x07" + "z" * 9_999),
        FinishedEvent(None, None, None, "\n" * 99),
    ],
)
def test_no_text_can_break_the_line_or_steer_a_terminal(event: Event) -> None:
    line = describe_event(event)
    assert line.isprintable()
    assert len(line) < 2 * LONGEST


def test_short_forms() -> None:
    assert [score_text(one) for one in (None, 1.3696, 0.0528)] == ["", "1.37x", "0.053x"]
    assert [clock_text(one) for one in (-3, 65.9, 7265)] == ["0:00", "1:05", "2:01:05"]
    assert [clock_text(float(one)) for one in ("inf", "nan")] == ["unknown", "unknown"]
    assert one_line("ab cd", limit=4) == "ab…"


@pytest.mark.parametrize(
    ("dollars", "known", "text"),
    [
        (0.0, 0.0, "$0.00"),
        (0.01234, 0.0, "$0.0123"),
        (12.345, 0.0, "$12.35"),
        (None, 0.0, "price unknown"),
        (None, 0.02, "at least $0.0200"),
    ],
)
def test_money(dollars: float | None, known: float, text: str) -> None:
    assert money_text(dollars, known) == text


def test_a_plan_that_expects_nothing_says_so_in_words() -> None:
    analysis = Analysis("b", "tile it", "p", 1.0, "low", "gemm", "f")
    assert plan_text(analysis) == "to do: tile it (low, no further gain expected)"


def test_the_end_of_a_run_is_told_in_full() -> None:
    why = "PyTorch is kept: " + "a long reason " * 40
    assert describe_event(FinishedEvent(None, None, None, why)) == f"finished  {why.strip()}"
