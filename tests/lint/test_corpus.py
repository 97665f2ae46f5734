"""Every source of the corpus is read rightly: type, complexity, every finding on its line, and nothing else."""

from __future__ import annotations

from collections import Counter

import pytest
from corpus_files import CorpusFile, lint_corpus_file, read_corpus

from tilesmith.lint import RULES
from tilesmith.lint.lessons import lessons
from tilesmith.records import Severity

FILES = read_corpus()
GRAVITY = (Severity.INFO, Severity.WARNING, Severity.ERROR)
by_name = pytest.mark.parametrize("file", FILES, ids=[file.name for file in FILES])


@by_name
def test_type_and_complexity(file: CorpusFile) -> None:
    found = lint_corpus_file(file)
    assert (found.kernel_type, found.complexity) == (file.kernel_type, file.complexity)


@by_name
def test_findings_are_exactly_the_marked_ones(file: CorpusFile) -> None:
    findings = lint_corpus_file(file).findings
    found = {(finding.id, finding.line) for finding in findings}
    grave = {(f.id, f.line) for f in findings if f.severity is not Severity.INFO}
    assert sorted(file.finds - found, key=str) == [], "marked, not found"
    assert sorted(grave - file.finds, key=str) == [], "found, not marked"


@by_name
def test_near_misses_stay_silent(file: CorpusFile) -> None:
    assert not file.near & {finding.id for finding in lint_corpus_file(file).findings}


@by_name
def test_no_error_on_what_works(file: CorpusFile) -> None:
    errors = [f for f in lint_corpus_file(file).findings if f.severity is Severity.ERROR]
    assert not (file.works and errors)


@by_name
def test_no_finding_is_graver_than_its_lesson_says(file: CorpusFile) -> None:
    for finding in lint_corpus_file(file).findings:
        assert GRAVITY.index(finding.severity) <= GRAVITY.index(lessons()[finding.id].severity)


def test_the_corpus_is_large_and_names_only_rules_there_are() -> None:
    assert len(FILES) >= 120
    assert {rule for file in FILES for rule, _ in file.finds} | {r for f in FILES for r in f.near} <= set(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_has_true_positives_and_near_misses(rule: str) -> None:
    positives = Counter(name for file in FILES for name in {rule for rule, _ in file.finds})
    near = Counter(name for file in FILES for name in file.near)
    assert positives[rule] >= 2
    assert near[rule] >= 2
