"""Every family of tasks, from its graph to a kernel that the judge passes and the linter finds nothing in."""

from __future__ import annotations

from pathlib import Path

import pytest
from playbook_tasks import DECLINED, ELEMENTWISE, ROWS

from tilesmith.authors.playbook import PlaybookAuthor
from tilesmith.judge import Judge
from tilesmith.playbook import find_match
from tilesmith.playbook.recipe import Declined, Match, Tuning
from tilesmith.playbook.recipes.elementwise import ElementwiseMatch
from tilesmith.playbook.recipes.rows import RowsMatch
from tilesmith.playbook.tuning import tuning_of
from tilesmith.records import COMPLEXITIES, Attempt, AuthorRequest, Candidate, Evaluation, Phase, Prompt, Verdict

EXAMPLES = Path(__file__).parents[2] / "examples"


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.py"
    path.write_text(text)
    return path


def matched(judge: Judge, task: Path) -> Match:
    match = find_match(judge.survey(task))
    assert not isinstance(match, Declined), match.reason
    return match


def judged(judge: Judge, task: Path, match: Match, tuning: Tuning) -> Evaluation:
    source = match.write(tuning)
    assert tuning_of(match, source) == tuning
    kernel = written(task.parent, f"{task.stem}_kernel", source)
    return judge.check(task, kernel)


def assert_clean(evaluation: Evaluation) -> None:
    assert evaluation.verdict is Verdict.PASSED, evaluation.reason
    assert evaluation.findings == ()
    assert evaluation.generality in ("general", None)
    assert evaluation.launches == 1


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name: str, judge: Judge, tmp_path: Path) -> None:
    task = written(tmp_path, name, ELEMENTWISE[name])
    match = matched(judge, task)
    assert isinstance(match, ElementwiseMatch)
    assert_clean(judged(judge, task, match, match.tunings[0]))


@pytest.mark.parametrize("name", ROWS)
def test_rows(name: str, judge: Judge, tmp_path: Path) -> None:
    task = written(tmp_path, name, ROWS[name])
    match = matched(judge, task)
    assert isinstance(match, RowsMatch)
    assert_clean(judged(judge, task, match, match.tunings[0]))


@pytest.mark.parametrize("name", DECLINED)
def test_what_no_recipe_knows_is_declined_with_a_reason(name: str, judge: Judge, tmp_path: Path) -> None:
    text, reason = DECLINED[name]
    found = find_match(judge.survey(written(tmp_path, name, text)))
    assert isinstance(found, Declined)
    assert reason in found.reason
    assert "--model" in found.reason
    assert "\n" not in found.reason


@pytest.mark.parametrize("name", ["softmax", "layernorm"])
def test_the_examples(name: str, judge: Judge, tmp_path: Path) -> None:
    task = written(tmp_path, name, (EXAMPLES / f"{name}.py").read_text())
    match = matched(judge, task)
    assert_clean(judged(judge, task, match, match.tunings[0]))


@pytest.mark.parametrize(
    ("name", "text"), [("layernorm", ROWS["layernorm"]), ("bias_per_channel", ELEMENTWISE["bias_per_channel"])]
)
def test_every_variant_is_right(name: str, text: str, judge: Judge, tmp_path: Path) -> None:
    task = written(tmp_path, name, text)
    match = matched(judge, task)
    near = [one for stage in ("grid", "block", "memory") for one in match.variations(match.tunings[0], stage)]
    for tuning in dict.fromkeys((*match.tunings[1:], *near)):
        assert_clean(judged(judge, task, match, tuning))


def test_a_row_that_fits_may_still_be_read_in_blocks(judge: Judge, tmp_path: Path) -> None:
    task = written(tmp_path, "softmax", (EXAMPLES / "softmax.py").read_text())
    match = matched(judge, task)
    blocked = next(tuning for tuning in match.tunings if "BLOCK_N" in tuning)
    assert "for start in range(0, N, BLOCK_N)" in match.write(blocked)
    assert_clean(judged(judge, task, match, blocked))


def test_an_analysis_counts_what_fusion_saves(judge: Judge, tmp_path: Path) -> None:
    text = ELEMENTWISE["scalar_mix"].replace("300, 517", "8192, 8192")
    analysis = matched(judge, written(tmp_path, "scalar_mix", text)).analysis()
    assert analysis.complexity in COMPLEXITIES
    assert analysis.kernel_type == "elementwise"
    assert analysis.expected_speedup is not None
    assert analysis.expected_speedup > 3
    assert "move" in analysis.bottleneck


def test_bytes_are_counted_in_the_type_of_each_tensor(judge: Judge, tmp_path: Path) -> None:
    text = ELEMENTWISE["masked_fill"].replace("(40, 333", "(8192, 8192").replace("keep == 0", "keep")
    text = text.replace("torch.randint(0, 2, (8192, 8192))", "torch.rand(8192, 8192) > 0.5")
    analysis = matched(judge, written(tmp_path, "masked", text)).analysis()
    assert "moves 0.604 GB where 0.604 GB would do" in analysis.bottleneck


def test_what_takes_less_than_a_launch_is_not_blamed_on_memory(judge: Judge, tmp_path: Path) -> None:
    analysis = matched(judge, written(tmp_path, "tiny", ELEMENTWISE["scalar_mix"])).analysis()
    assert analysis.bottleneck.startswith("launches: 7 operators")
    assert "memory" not in analysis.bottleneck


@pytest.mark.parametrize(("change", "expected"), [("", 1.0), ("# by another hand\n", 7.0)])
def test_a_speedup_is_expected_over_the_base(change: str, expected: float, judge: Judge, tmp_path: Path) -> None:
    survey = judge.survey(written(tmp_path, "mix", ELEMENTWISE["scalar_mix"]))
    match = find_match(survey)
    assert not isinstance(match, Declined)
    candidate = Candidate(1, change + match.write(match.tunings[0]), None, 1, Phase.SEED)
    base = Attempt(candidate, Evaluation(Verdict.PASSED, "", "elementwise"), None, True, "", 0.0)
    reply = PlaybookAuthor().answer(
        AuthorRequest(2, Phase.ANALYZE, survey, base=base), Prompt("", ""), lambda _: None
    )
    assert f'"expected_speedup": {expected}' in reply.text


def test_more_than_two_to_the_31_elements_are_counted_in_64_bits(judge: Judge, tmp_path: Path) -> None:
    small = ELEMENTWISE["silu_gate"]
    task = written(tmp_path, "huge", small.replace("(64, 1000)", "(65536, 65536)"))
    match = matched(judge, task)
    source = match.write(match.tunings[0])
    assert "tl.program_id(0).to(tl.int64)" in source
    assert "assert numel" not in source
    assert "assert numel < 2**31" in matched_source(judge, written(tmp_path, "small", small))


def matched_source(judge: Judge, task: Path) -> str:
    match = matched(judge, task)
    return match.write(match.tunings[0])


def test_a_number_is_taken_from_where_the_task_has_it(judge: Judge, tmp_path: Path) -> None:
    sources = {
        name: matched_source(judge, written(tmp_path, name, ELEMENTWISE[name]))
        for name in ("number_argument", "leaky_relu_module", "scaled_by_root")
    }
    assert "return mul_add(x, s)" in sources["number_argument"]
    assert "self.act.negative_slope" in sources["leaky_relu_module"]
    assert "self.width ** 0.5" in sources["scaled_by_root"]


def test_a_kernel_that_was_changed_by_hand_is_nobodys_tuning(judge: Judge, tmp_path: Path) -> None:
    match = matched(judge, written(tmp_path, "softmax", ROWS["softmax"]))
    source = match.write(match.tunings[0])
    assert tuning_of(match, source.replace("tl.exp(", "tl.exp2(")) is None
    assert tuning_of(match, "not python (") is None
    assert tuning_of(match, source.rstrip()) == match.tunings[0]
