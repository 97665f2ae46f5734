"""Other people's text: all of it visible, none of it markup."""

from __future__ import annotations

import pytest

from tilesmith.report.source_text import highlighted, shown_diff, shown_source, visible


@pytest.mark.parametrize(
    ("hidden", "shown"),
    [
        ("a\x00b", "a␀b"),
        ("\x1b[31m", "␛[31m"),
        ("\x7f", "␡"),
        ("\x9b", "⟨U+009B⟩"),
        ("if \u202eadmin", "if ⟨U+202E⟩admin"),
        ("\ud800", "⟨U+D800⟩"),
        ("\ufeffimport", "⟨U+FEFF⟩import"),
        ("\u3164 = 1", "⟨U+3164⟩ = 1"),
        ("x\U000e0041", "x⟨U+E0041⟩"),
        ("⚠\ufe0f", "⚠\ufe0f"),
        ("tab\tand\r\nline\n", "tab\tand\nline\n"),
    ],
)
def test_what_nobody_could_see_is_a_symbol(hidden: str, shown: str) -> None:
    assert visible(hidden) == shown


def test_markup_in_a_source_is_text() -> None:
    html = highlighted(shown_source("x = '</code><script>alert(1)</script>' & 1\n"))
    assert "<script" not in html
    assert "&lt;script&gt;" in html


def test_a_copy_from_the_page_is_the_file_or_none_is_offered() -> None:
    assert shown_source("x = 1\r\n").exact
    assert not shown_source("x = '\x00'\n").exact


def test_a_cut_source_ends_with_a_whole_line() -> None:
    shown = shown_source("abc\ndef\nghi\n", limit=6)
    assert (shown.text, shown.cut, shown.lines) == ("abc\n", True, 3)


def test_equal_sources_have_no_diff() -> None:
    assert shown_diff("a\n", "a\n").text == ""


def test_a_diff_is_highlighted() -> None:
    html = highlighted(shown_diff("a\nb\n", "a\nc\n"))
    assert '<span class="gd">-b</span>' in html
    assert '<span class="gi">+c</span>' in html
