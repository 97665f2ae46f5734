"""The strategy: what is asked next, what is kept, when it ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from marked_kernels import ListAuthor, MarkedEvaluator, RecordingObserver, analysis, forged, kernel, new_run

from tilesmith.errors import AuthorError
from tilesmith.forge.plan_findings import PLAN_FINDINGS
from tilesmith.forge.runner import run_forge
from tilesmith.forge.settings import ForgeSettings
from tilesmith.lint.lessons import lessons
from tilesmith.records import (
    AnalysisEvent,
    AttemptEvent,
    AuthorRequest,
    CallEvent,
    ConfirmationEvent,
    DecisionEvent,
    Evaluation,
    FinishedEvent,
    Prompt,
    RefusalEvent,
    Reply,
    StopReason,
    Usage,
)
from tilesmith.runs import RunFolder, Status

ONE = ForgeSettings(seeds=1, rounds=0, stages="none")


def test_all_seeds_are_judged_and_the_best_is_kept(tmp_path: Path) -> None:
    told = forged(
        tmp_path,
        {"seed": [kernel("passed 0.11", "a"), kernel("passed 0.71", "b"), kernel("passed 0.5", "c")]},
        ForgeSettings(seeds=3, rounds=0, stages="none"),
    )
    assert [event.attempt.score for event in told.of(AttemptEvent)] == [0.11, 0.71, 0.5]
    assert [event.attempt.kept for event in told.of(AttemptEvent)] == [True, True, False]
    assert told.finished.best == 2


def test_a_kernel_that_is_not_faster_says_so(tmp_path: Path) -> None:
    told = forged(tmp_path, {"seed": [kernel("passed 0.71")]}, ONE)
    assert told.finished.faster is False
    assert "NOT faster" in told.finished.why
    assert "NOT faster" in (told.run.path / "best.py").read_text().splitlines()[0]


@pytest.mark.parametrize(("score", "kept"), [(0.71, True), (0.98, False)])
def test_a_kernel_of_the_playbook_that_pytorch_beats_is_no_answer(tmp_path: Path, score: float, kept: bool) -> None:
    told = forged(tmp_path, {"seed": [Reply(kernel(f"passed {score}"), author="playbook")]}, ONE)
    assert (told.finished.keeps_pytorch, told.finished.best) == (kept, 1)
    assert ("PyTorch is kept: kernel 1 is right, but NOT faster" in told.finished.why) == kept


def test_a_faster_kernel_says_how_much(tmp_path: Path) -> None:
    told = forged(tmp_path, {"seed": [kernel("passed 2.5")]}, ONE)
    assert told.finished.faster is True
    assert "2.50x" in (told.run.path / "best.py").read_text().splitlines()[0]


def test_a_failing_seed_is_repaired_with_its_history(tmp_path: Path) -> None:
    replies = {
        "seed": [kernel("compile_error", "a")],
        "repair": [kernel("wrong_values", "b"), kernel("passed 1.2", "c")],
    }
    told = forged(tmp_path, replies, ONE)
    assert told.author.phases == ["seed", "repair", "repair"]
    assert [len(one.history) for one in told.author.asked] == [0, 0, 1]
    assert told.author.asked[2].base.evaluation.verdict == "wrong_values"
    assert told.finished.best == 3


def test_repairs_are_bounded(tmp_path: Path) -> None:
    replies = {
        "seed": [kernel("compile_error", "a")],
        "repair": [kernel("compile_error", f"r{n}") for n in range(9)],
    }
    told = forged(tmp_path, replies, ForgeSettings(seeds=1, rounds=0, stages="none", repairs=2))
    assert told.author.phases == ["seed", "repair", "repair"]
    assert told.finished.best is None
    assert "no kernel passed, of 3 tried" in told.finished.why


def test_twins_are_repaired_once(tmp_path: Path) -> None:
    replies = {
        "seed": [kernel("compile_error", "a")] * 3,
        "repair": [kernel("compile_error", f"r{n}") for n in range(9)],
    }
    told = forged(tmp_path, replies, ForgeSettings(seeds=3, rounds=0, stages="none", repairs=2))
    assert told.author.phases.count("repair") == 2


def test_a_cheat_is_not_repaired(tmp_path: Path) -> None:
    told = forged(tmp_path, {"seed": [kernel("cheating")]}, ForgeSettings(seeds=1, rounds=1, stages="none"))
    assert told.author.phases == ["seed"]


def test_repair_ends_when_the_author_repeats_itself(tmp_path: Path) -> None:
    replies = {"seed": [kernel("compile_error", "a")], "repair": [kernel("compile_error", "a")]}
    told = forged(tmp_path, replies, ONE)
    assert told.author.phases == ["seed", "repair"]
    assert told.evaluator.judged == ["0001.py"], "the same source is not judged twice"
    assert told.of(AttemptEvent)[1].attempt.same_as == 1


def test_other_failing_seeds_get_fewer_repairs_once_one_passed(tmp_path: Path) -> None:
    replies = {
        "seed": [kernel("passed 1.1", "a"), kernel("compile_error", "b")],
        "repair": [kernel("compile_error", f"r{n}") for n in range(9)],
    }
    told = forged(tmp_path, replies, ForgeSettings(seeds=2, rounds=0, stages="none", repairs=3, spare_repairs=1))
    assert told.author.phases.count("repair") == 1


def test_a_plan_that_was_not_carried_out_goes_back_once_with_the_lesson(tmp_path: Path) -> None:
    replies = {
        "seed": [kernel("passed 0.135 high recurrent_host_loop time-loop-on-host", "a")],
        "revise": [kernel("passed 0.14 high recurrent_host_loop time-loop-on-host", "b")],
    }
    told = forged(tmp_path, replies, ONE)
    assert told.author.phases == ["seed", "revise"]
    assert told.author.asked[1].lessons == ("time-loop-on-host",)


def test_optimization_starts_from_the_best_and_repairs(tmp_path: Path) -> None:
    replies = {
        "seed": [kernel("passed 0.5", "a"), kernel("passed 0.8", "b")],
        "analyze": [analysis()],
        "optimize": [kernel("inaccurate", "c")],
        "repair": [kernel("passed 1.4", "d")],
    }
    told = forged(tmp_path, replies, ForgeSettings(seeds=2, rounds=1, stages="none"))
    assert told.author.phases == ["seed", "seed", "analyze", "optimize", "repair"]
    assert told.author.asked[2].base.candidate.number == 2
    assert told.author.asked[3].analysis.method == "fuse"
    assert told.of(AttemptEvent)[-1].attempt.expected_speedup == 1.5
    assert told.finished.best == 4


def test_a_hard_plan_that_fails_its_repairs_falls_back(tmp_path: Path) -> None:
    replies = {
        "seed": [kernel("passed 0.6", "a")],
        "analyze": [analysis("high")],
        "optimize": [kernel("wrong_values", "b"), kernel("passed 0.7", "c")],
        "repair": [kernel("wrong_values", "d")],
    }
    told = forged(tmp_path, replies, ForgeSettings(seeds=1, rounds=1, stages="none", repairs=1))
    optimize = [one for one in told.author.asked if one.phase == "optimize"]
    assert [one.use_fallback for one in optimize] == [False, True]
    assert told.finished.best == 4
    assert any("fallback" in event.about for event in told.of(DecisionEvent))


def test_a_fallback_is_repaired_as_what_it_is(tmp_path: Path) -> None:
    replies = {
        "seed": [kernel("passed 0.6", "a")],
        "analyze": [analysis("high")],
        "optimize": [kernel("wrong_values", "b"), kernel("compile_error", "c")],
        "repair": [kernel("wrong_values", "d"), kernel("passed 0.9 low", "e")],
        "stage grid": [kernel("passed 1.1", "f")],
    }
    told = forged(tmp_path, replies, ForgeSettings(seeds=1, rounds=1, stages="grid", repairs=1))
    plan, fallback = (one for one in told.author.asked if one.phase == "repair")
    assert (plan.use_fallback, fallback.use_fallback) == (False, True)
    assert fallback.analysis.fallback == "keep PyTorch's"
    expected = {one.attempt.candidate.number: one.attempt.expected_speedup for one in told.of(AttemptEvent)}
    assert expected == {1: None, 2: 1.5, 3: 1.5, 4: None, 5: None, 6: None}
    assert told.author.phases[-1] == "stage grid", "the fallback is plain, though the plan was not"


def test_an_easy_plan_has_no_fallback(tmp_path: Path) -> None:
    replies = {
        "seed": [kernel("passed 0.6", "a")],
        "analyze": [analysis("medium")],
        "optimize": [kernel("wrong_values", "b")],
    }
    told = forged(tmp_path, replies, ForgeSettings(seeds=1, rounds=1, stages="none", repairs=0))
    assert told.author.phases == ["seed", "analyze", "optimize"]


def test_rounds_end_without_gain(tmp_path: Path) -> None:
    replies = {
        "seed": [kernel("passed 1.0", "a")],
        "analyze": [analysis()] * 9,
        "optimize": [kernel("passed 1.5", "b"), kernel("passed 1.4", "c"), kernel("passed 9", "never")],
    }
    told = forged(tmp_path, replies, ForgeSettings(seeds=1, rounds=5, stages="none", patience=1))
    assert told.author.phases == ["seed", "analyze", "optimize", "analyze", "optimize"]
    assert told.finished.best == 2


def test_noise_does_not_replace_the_best(tmp_path: Path) -> None:
    replies = {"seed": [kernel("passed 1.000", "a"), kernel("passed 1.004", "b")]}
    told = forged(tmp_path, replies, ForgeSettings(seeds=2, rounds=0, stages="none"))
    assert told.finished.best == 1


def test_a_malformed_analysis_is_asked_for_once_more_then_done_without(tmp_path: Path) -> None:
    replies = {
        "seed": [kernel("passed 1.0", "a")],
        "analyze": ["I think it is slow.", '{"bottleneck": "memory"}'],
        "optimize": [kernel("passed 1.5", "b")],
    }
    told = forged(tmp_path, replies, ForgeSettings(seeds=1, rounds=1, stages="none"))
    assert told.author.phases == ["seed", "analyze", "analyze", "optimize"]
    assert told.author.asked[2].complaint is not None
    assert told.author.asked[3].analysis is None
    assert [event.analysis for event in told.of(AnalysisEvent)] == [None, None]
    assert told.finished.best == 2


def test_a_cut_off_analysis_is_asked_for_more_briefly(tmp_path: Path) -> None:
    cut = Reply('{"bottleneck": "mem', "list", StopReason.LENGTH)
    replies = {
        "seed": [kernel("passed 1.0", "a")],
        "analyze": [cut, analysis()],
        "optimize": [kernel("passed 1.5", "b")],
    }
    told = forged(tmp_path, replies, ForgeSettings(seeds=1, rounds=1, stages="none"))
    assert "cut off" in told.author.asked[2].complaint
    assert [one.number for one in told.author.asked] == [1, 2, 3, 4]


def test_prose_is_asked_for_once_more(tmp_path: Path) -> None:
    replies = {"seed": ["Use a kernel."], "seed again": [kernel("passed 1.0")]}
    told = forged(tmp_path, replies, ONE)
    assert [bool(one.complaint) for one in told.author.asked] == [False, True]
    assert len(told.of(RefusalEvent)) == 1
    assert told.finished.best == 1


def test_a_reply_that_is_useless_twice_is_left(tmp_path: Path) -> None:
    told = forged(tmp_path, {"seed": ["No."], "seed again": [""]}, ONE)
    assert told.author.phases == ["seed", "seed"]
    assert told.finished.best is None
    assert "no kernel was written" in told.finished.why


def test_a_cut_off_reply_is_asked_for_more_briefly(tmp_path: Path) -> None:
    cut = Reply("```python\nclass ModelNew(nn.Mod", "list", StopReason.LENGTH)
    told = forged(tmp_path, {"seed": [cut], "seed again": [kernel("passed 1.0")]}, ONE)
    assert "cut off" in told.author.asked[1].complaint
    assert "cut off" in told.of(RefusalEvent)[0].problem


def test_a_cut_off_reply_whose_code_is_whole_is_taken(tmp_path: Path) -> None:
    cut = Reply(kernel("passed 1.0") + "And this kernel is fast beca", "list", StopReason.LENGTH)
    assert forged(tmp_path, {"seed": [cut]}, ONE).author.phases == ["seed"]


def test_an_author_that_declines_is_not_asked_again(tmp_path: Path) -> None:
    told = forged(tmp_path, {"seed": [Reply("no recipe for conv2d", "list", StopReason.DECLINED)]}, ONE)
    assert told.author.phases == ["seed"]
    assert told.of(RefusalEvent)[0].problem == "no recipe for conv2d"


def test_an_author_that_keeps_pytorch_is_told_once_at_the_end(tmp_path: Path) -> None:
    kept = Reply("no recipe for conv2d; do this\nconv2d 1 call", "list", StopReason.KEEPS_PYTORCH)
    told = forged(tmp_path, {"seed": [kept, kept]}, ForgeSettings(seeds=2))
    assert told.author.phases == ["seed", "seed"]
    assert told.of(RefusalEvent) == []
    assert told.of(DecisionEvent) == []
    assert told.finished.keeps_pytorch
    assert told.finished.why == "PyTorch is kept: no recipe for conv2d; do this"


def test_a_kernel_this_machine_cannot_judge_is_nobodys_fault(tmp_path: Path) -> None:
    replies = {"seed": [kernel("not judged here", "a"), kernel("passed 1.1", "b")]}
    told = forged(tmp_path, replies, ForgeSettings(seeds=2, rounds=0, stages="none"))
    assert told.author.phases == ["seed", "seed"], "no repair"
    assert told.finished.best == 2
    assert (told.run.path / "kernels" / "0001.py").exists()


def test_pytorch_is_kept_where_no_kernel_can_be_judged(tmp_path: Path) -> None:
    replies = {"seed": [kernel("not judged here", "a"), Reply("nothing else", "list", StopReason.DECLINED)]}
    told = forged(tmp_path, replies, ForgeSettings(seeds=2))
    assert told.finished.keeps_pytorch
    assert told.finished.why == "PyTorch is kept: too much work"


STAGES = {
    f"stage {name}": [kernel(f"passed {score}", name)]
    for name, score in (("grid", 1.2), ("block", 0.9), ("memory", 1.3))
}


def test_stages_tune_a_plain_kernel_and_drop_what_is_worse(tmp_path: Path) -> None:
    told = forged(tmp_path, {"seed": [kernel("passed 1.0 low")], **STAGES}, ForgeSettings(seeds=1, rounds=0))
    assert told.author.phases == ["seed", "stage grid", "stage block", "stage memory"]
    assert [event.attempt.kept for event in told.of(AttemptEvent)] == [True, True, False, True]
    assert told.author.asked[3].base.candidate.number == 2, (
        "the memory stage starts from the best, not from block's"
    )
    assert told.author.asked[1].with_care is False


def test_stages_are_careful_with_medium_complexity(tmp_path: Path) -> None:
    told = forged(
        tmp_path, {"seed": [kernel("passed 1.0 medium")], **STAGES}, ForgeSettings(seeds=1, rounds=0, stages="grid")
    )
    assert told.author.asked[1].with_care is True


@pytest.mark.parametrize("complexity", ["high", "persistent"])
def test_stages_skip_delicate_kernels(tmp_path: Path, complexity: str) -> None:
    told = forged(
        tmp_path,
        {"seed": [kernel(f"passed 1.37 {complexity} persistent_recurrent")]},
        ForgeSettings(seeds=1, rounds=0),
    )
    assert told.author.phases == ["seed"]
    assert [event.about for event in told.of(DecisionEvent)] == ["stage grid", "stage block", "stage memory"]


def test_a_persistent_kernel_with_a_wrong_grid_gets_its_grid_fixed(tmp_path: Path) -> None:
    marks = "passed 0.25 persistent persistent_recurrent grid-batch-only"
    replies = {
        "seed": [kernel(marks, "a")],
        "revise": [kernel(marks, "b")],
        "stage grid": [kernel("passed 1.75 persistent", "c")],
    }
    told = forged(tmp_path, replies, ForgeSettings(seeds=1, rounds=0))
    assert told.author.phases == ["seed", "revise", "stage grid"]
    assert told.author.asked[2].lessons == ("grid-batch-only",)
    assert not told.author.asked[2].with_care, "it takes a new body to spread over hidden units"
    assert told.finished.best == 3


def test_an_analysis_can_make_a_kernel_delicate(tmp_path: Path) -> None:
    replies = {
        "seed": [kernel("passed 1.0", "a")],
        "analyze": [analysis("persistent")],
        "optimize": [kernel("passed 1.5 low", "b")],
    }
    told = forged(tmp_path, replies, ForgeSettings(seeds=1, rounds=1))
    assert told.author.phases == ["seed", "analyze", "optimize"]


def test_a_kernel_stays_delicate_after_an_easy_round(tmp_path: Path) -> None:
    replies = {
        "seed": [kernel("passed 1.0", "a")],
        "analyze": [analysis("high"), analysis("low")],
        "optimize": [kernel("passed 1.5 low", "b"), kernel("passed 1.7 low", "c")],
    }
    told = forged(tmp_path, replies, ForgeSettings(seeds=1, rounds=2))
    assert [event.about for event in told.of(DecisionEvent)] == ["stage grid", "stage block", "stage memory"]


def test_a_failing_stage_is_mended_within_bounds(tmp_path: Path) -> None:
    replies = {
        "seed": [kernel("passed 1.0 low", "a")],
        "stage grid": [kernel("compile_error", "b")],
        "repair": [kernel("passed 1.4", "c")],
    }
    told = forged(tmp_path, replies, ForgeSettings(seeds=1, rounds=0, stages="grid", spare_repairs=1))
    assert told.author.phases == ["seed", "stage grid", "repair"]
    assert told.finished.best == 3


def test_untimed_stages_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    replies = {"seed": [kernel("passed 1.0 low")], **STAGES}
    told = forged(tmp_path, replies, ForgeSettings(seeds=1, rounds=0), MarkedEvaluator(timed=False))
    assert told.author.phases == ["seed"]
    told = forged(tmp_path, replies, ForgeSettings(seeds=1, rounds=0, stages="all"), MarkedEvaluator(timed=False))
    assert told.author.phases == ["seed", "stage grid", "stage block", "stage memory"]


def test_the_target_ends_the_run(tmp_path: Path) -> None:
    replies = {"seed": [kernel("passed 2.0", "a"), kernel("passed 3.0", "b")], "analyze": [analysis()]}
    told = forged(tmp_path, replies, ForgeSettings(seeds=2, target_speedup=1.5))
    assert told.author.phases == ["seed", "seed"], "every seed that was asked for is judged"
    assert told.finished.best == 2
    assert "target" in told.of(DecisionEvent)[0].why


class GreedyAuthor(ListAuthor):
    """Uses every token it is allowed, and as many for the prompt as there can be."""

    def answer(self, request: AuthorRequest, prompt: Prompt, heard: Callable[[int], None]) -> Reply:
        reply = super().answer(request, prompt, heard)
        usage = Usage(len(prompt.system + prompt.user) // 3, request.max_output_tokens)
        return replace(reply, usage=replace(usage, dollars=self.dollars(usage)))


ENDLESS = {
    "seed": [kernel("passed 1.0", f"seed {n}") for n in range(5)],
    "analyze": [analysis()] * 99,
    "optimize": [kernel(f"passed {1 + n / 10}", f"{n}") for n in range(1, 99)],
}


@pytest.mark.parametrize("seeds", [1, 3, 5])
@pytest.mark.parametrize(
    "limit", [{"max_tokens": 20_000}, {"max_tokens": 200_000}, {"max_cost": 0.3}, {"max_cost": 2.0}], ids=str
)
def test_a_budget_is_never_overdrawn(tmp_path: Path, limit: dict[str, float], seeds: int) -> None:
    settings = ForgeSettings(seeds=seeds, rounds=50, stages="none", max_output_tokens=32_768, **limit)
    observer = RecordingObserver()
    with new_run(tmp_path, settings) as run:
        run_forge(run, GreedyAuthor(ENDLESS), MarkedEvaluator(), settings, observer)
    spent = sum((event.reply.usage for event in observer.events if isinstance(event, CallEvent)), Usage())
    assert spent.tokens <= limit.get("max_tokens", spent.tokens)
    assert spent.dollars <= limit.get("max_cost", spent.dollars)
    stop = next(event for event in observer.events if isinstance(event, DecisionEvent))
    assert "does not allow the next call" in stop.why
    assert isinstance(observer.events[-1], FinishedEvent)


def test_no_money_no_call(tmp_path: Path) -> None:
    told = forged(tmp_path, ENDLESS, ForgeSettings(seeds=1, max_cost=0.0))
    assert told.author.asked == []
    assert told.finished.best is None


def test_a_price_nobody_knows_pays_for_nothing(tmp_path: Path) -> None:
    author = ListAuthor(ENDLESS)
    author.dollars = lambda usage: None
    settings = ForgeSettings(seeds=1, max_cost=5.0)
    with new_run(tmp_path, settings) as run:
        run_forge(run, author, MarkedEvaluator(), settings, RecordingObserver())
    assert author.asked == []


def test_time_is_a_budget_too(tmp_path: Path) -> None:
    told = forged(tmp_path, ENDLESS, ForgeSettings(seeds=1, rounds=50, stages="none", max_minutes=3.5 / 60))
    assert len(told.author.asked) == 4, "each call took a second"
    assert "time" in told.of(DecisionEvent)[-1].why


def test_a_winner_that_is_not_confirmed_gives_way_to_the_next(tmp_path: Path) -> None:
    replies = {"seed": [kernel("passed 1.5", "a"), kernel("passed 2.5", "b")]}
    evaluator = MarkedEvaluator(confirmed={"passed 2.5": "nondeterministic"})
    told = forged(tmp_path, replies, ForgeSettings(seeds=2, rounds=0, stages="none"), evaluator)
    assert [event.candidate for event in told.of(ConfirmationEvent)] == [2, 1]
    assert told.finished.best == 1
    assert "# a" in (told.run.path / "best.py").read_text()


class SmallerShapes(MarkedEvaluator):
    """Judges a kernel of exact shapes at smaller ones, and remembers which files it confirmed."""

    def __init__(self, generality: str | None) -> None:
        super().__init__()
        self._generality = generality

    def evaluate(self, kernel: Path, progress: Callable[[str], None]) -> Evaluation:
        found = replace(super().evaluate(kernel, progress), generality=self._generality)
        return replace(found, environment={"shapes": "(32, 64) instead of (1024, 2048)"})

    def confirm(self, kernel: Path, progress: Callable[[str], None]) -> Evaluation:
        self.judged.append(f"confirmed {kernel.name}")
        return super().confirm(kernel, progress)


@pytest.mark.parametrize("generality", ["exact shape only", None])
def test_a_winner_of_exact_shapes_is_confirmed_without_the_checks_that_refuse_smaller_ones(
    tmp_path: Path, generality: str | None
) -> None:
    evaluator = SmallerShapes(generality)
    assert forged(tmp_path, {"seed": [kernel("passed 1.5")]}, ONE, evaluator).finished.best == 1
    assert evaluator.judged == ["0001.py", "confirmed 0001.py"]


def test_a_winner_confirmed_slower_is_not_called_faster(tmp_path: Path) -> None:
    evaluator = MarkedEvaluator(confirmed={"passed 1.5": "passed 0.9"})
    told = forged(tmp_path, {"seed": [kernel("passed 1.5")]}, ONE, evaluator)
    assert told.finished.faster is False
    assert told.finished.score == 0.9


def test_all_seeds_failed_the_round_starts_from_the_one_that_came_furthest(tmp_path: Path) -> None:
    replies = {
        "seed": [kernel("inaccurate", "a"), kernel("compile_error", "b")],
        "analyze": [analysis()],
        "optimize": [kernel("passed 1.0", "c")],
    }
    told = forged(tmp_path, replies, ForgeSettings(seeds=2, rounds=1, stages="none", repairs=0))
    assert told.author.asked[2].base.candidate.number == 1
    assert told.finished.best == 3


def test_a_provider_that_fails_stops_the_run_which_goes_on_where_it_was(tmp_path: Path) -> None:
    settings = ForgeSettings(seeds=2, rounds=0, stages="none")
    replies = {"seed": [AuthorError("provider: 503 overloaded"), kernel("passed 1.5")]}
    with new_run(tmp_path, settings) as run, pytest.raises(AuthorError, match="overloaded"):
        run_forge(run, ListAuthor(replies), MarkedEvaluator(), settings, RecordingObserver())
    assert run.manifest.status is Status.STOPPED
    again = RunFolder(run.path)
    author = ListAuthor({"seed": [kernel("passed 1.2")]})
    finished = run_forge(again, author, MarkedEvaluator(), settings, RecordingObserver())
    assert [one.seed for one in author.asked] == [1], "the seed that was answered is not asked for again"
    assert finished.best == 2
    assert again.manifest.status is Status.FINISHED


def test_plan_findings_are_lint_rules_with_lessons() -> None:
    assert set(lessons()) >= PLAN_FINDINGS


WITH_PLAYBOOK = ForgeSettings(playbook=True, seeds=3, rounds=0, stages="none", confirm=False)


def test_the_playbooks_kernel_is_the_first_seed_and_judged_before_the_others_are_asked(tmp_path: Path) -> None:
    first = Reply(kernel("passed 1.2"), "playbook")
    told = forged(tmp_path, {"seed": [first, kernel("passed 1.1", "b"), kernel("passed 1.5", "c")]}, WITH_PLAYBOOK)
    asked = sorted((one.seed, one.seeds, one.by_playbook) for one in told.author.asked)
    assert asked == [(1, 3, True), (2, 3, False), (3, 3, False)]
    kinds = [type(event) for event in told.events]
    assert kinds.index(AttemptEvent) < [i for i, kind in enumerate(kinds) if kind is CallEvent][1]
    assert [one.attempt.candidate.author for one in told.of(AttemptEvent)] == ["playbook", "list", "list"]
    assert told.finished.best == 3


def test_where_the_playbook_has_none_the_author_writes_all_seeds(tmp_path: Path) -> None:
    declined = Reply("the playbook has no kernel for this task", "playbook", StopReason.DECLINED)
    asked: list[bool] = []

    class Declining(ListAuthor):
        def answer(self, request: AuthorRequest, prompt: Prompt, heard: Callable[[int], None]) -> Reply:
            asked.append(request.by_playbook)
            return declined if request.by_playbook else super().answer(request, prompt, heard)

    author = Declining({"seed": [kernel("passed 1.1", name) for name in "abc"]})
    with new_run(tmp_path, WITH_PLAYBOOK) as run:
        finished = run_forge(run, author, MarkedEvaluator(), WITH_PLAYBOOK, RecordingObserver())
    assert asked == [True, False, False, False]
    assert sorted(one.seed for one in author.asked) == [1, 2, 3]
    assert finished.best == 1


def test_the_playbooks_kernel_needs_no_money(tmp_path: Path) -> None:
    replies = {"seed": [Reply(kernel("passed 1.2"), "playbook")]}
    told = forged(tmp_path, replies, replace(WITH_PLAYBOOK, max_cost=0.0))
    assert [one.by_playbook for one in told.author.asked] == [True]
    assert told.finished.best == 1


def test_a_target_that_the_playbook_meets_asks_nobody_else(tmp_path: Path) -> None:
    replies = {"seed": [Reply(kernel("passed 3.0"), "playbook")]}
    told = forged(tmp_path, replies, replace(WITH_PLAYBOOK, target_speedup=2.0))
    assert len(told.author.asked) == 1
