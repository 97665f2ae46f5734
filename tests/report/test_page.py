"""Pages in a real browser: nothing fails, nothing is fetched, nothing a kernel wrote is run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sample_run import EVENTS, evaluation
from timed_run import KERNEL, finished_run, measured, timed_events

from tilesmith.records import AttemptEvent, DecisionEvent, Event, Finding, FinishedEvent, Severity, Verdict
from tilesmith.report import write_run_report, write_verdict_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Opener = Callable[..., "Page"]
HOSTILE = (
    "</code></pre><script>document.title = 'run by a kernel'</script><img src=x onerror=\"document.title='run'\">"
)


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opener]:
    """Opens a page, and in the end nothing may have gone wrong in it."""
    complaints: list[str] = []
    contexts = []

    def open_page(path: Path, width: int = 1280, scheme: str = "light") -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda one: complaints.append(one.url) if one.url != path.as_uri() else None)
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [one for one in complaints if not one.startswith("data:")] == []


def written(parent: Path, events: tuple[Event, ...] = EVENTS) -> Path:
    folder = finished_run(parent, events)
    write_run_report(folder)
    return folder / "report.html"


def dead_links(page: Page) -> list[str]:
    return page.evaluate(
        "[...document.querySelectorAll('a[href^=\"#\"]')].map(a => a.getAttribute('href'))"
        ".filter(href => !document.getElementById(href.slice(1)))"
    )


def overflow(page: Page) -> int:
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def test_a_timed_run_has_its_plots_and_every_link_a_target(tmp_path: Path, opened: Opener) -> None:
    path = written(tmp_path, timed_events(6))
    page = opened(path)
    titles = page.eval_on_selector_all("figure svg > title", "all => all.map(one => one.textContent)")
    assert titles == ["Speedup of each attempt", "Roofline", "Timing samples"]
    assert page.locator(".answers strong").first.text_content() == "4.00×"
    assert dead_links(page) == []
    ids = page.eval_on_selector_all("[id]", "all => all.map(one => one.id)")
    assert len(ids) == len(set(ids))
    files = page.eval_on_selector_all("a:not([href^='#'])", "all => all.map(one => one.getAttribute('href'))")
    assert files
    assert [one for one in files if not (path.parent / one).is_file()] == []


def test_a_run_of_a_model_shows_its_tokens(tmp_path: Path, opened: Opener) -> None:
    page = opened(written(tmp_path))
    assert page.locator("svg[aria-labelledby='plot-tokens-title plot-tokens-desc']").count() == 1
    assert "at least $0.0800" in (page.locator("#cost tr.total").text_content() or "")
    assert dead_links(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_plots_take_the_colors_of_the_scheme(tmp_path: Path, opened: Opener, scheme: str) -> None:
    page = opened(written(tmp_path, timed_events()), scheme=scheme)
    ink = page.eval_on_selector("#plot-roofline-title", "one => getComputedStyle(one.parentElement).color")
    dashes = "one => [...one.parentElement.querySelectorAll('text')].map(text => getComputedStyle(text).fill)"
    fills = page.eval_on_selector("#plot-roofline-title", dashes)
    assert ink in fills
    assert (ink == "rgb(29, 31, 33)") == (scheme == "light")


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_sticks_out(tmp_path: Path, opened: Opener, width: int) -> None:
    page = opened(written(tmp_path, timed_events(6, f"{KERNEL}    wide = '{'w' * 500}'\n")), width=width)
    assert overflow(page) == 0
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert overflow(page) == 0


def test_the_button_copies_the_kernel(tmp_path: Path, opened: Opener) -> None:
    page = opened(written(tmp_path, timed_events(2)))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("button[data-copy]")
    page.wait_for_function("document.querySelector('button[data-copy]').textContent === 'Copied'")
    assert page.evaluate("navigator.clipboard.readText()") == KERNEL + "    step = 2\n"


def test_attempts_can_be_filtered_and_a_link_opens_one(tmp_path: Path, opened: Opener) -> None:
    page = opened(written(tmp_path))
    assert page.locator("details.attempt:visible").count() == 5
    page.select_option("[name=state]", "failed")
    assert page.locator("details.attempt:visible").count() == 2
    page.select_option("[name=phase]", "optimize")
    assert page.locator(".filters output").text_content() == "1 of 5"
    page.click("a.attempt[href='#attempt-4']")
    page.wait_for_function("document.getElementById('attempt-4').open")


def hostile(event: Event) -> Event:
    """The event with markup wherever somebody else's text is."""
    match event:
        case AttemptEvent(attempt=attempt):
            source = f"# {HOSTILE}\x00\x1b[2J\u202e\n" + "x = 1\n" * (5_000_000 // 6)
            judged = replace(
                attempt.evaluation,
                reason=HOSTILE,
                findings=(Finding(HOSTILE, Severity.ERROR, 1, HOSTILE),),
                environment={HOSTILE: HOSTILE},
            )
            candidate = replace(attempt.candidate, source=source, author=HOSTILE)
            return AttemptEvent(replace(attempt, candidate=candidate, evaluation=judged, why=HOSTILE))
        case FinishedEvent():
            return replace(event, why=HOSTILE)
    return event


def test_nothing_that_a_kernel_holds_is_run(tmp_path: Path, opened: Opener) -> None:
    events = tuple(map(hostile, timed_events(2)))
    path = written(tmp_path, (*events[:-1], DecisionEvent(HOSTILE, HOSTILE), events[-1]))
    page = opened(path)
    assert page.title() == "39_GRU · tilesmith"
    assert page.locator("script").count() == 1
    assert page.locator("img").count() == 0
    shown = page.locator("#kernel-source").text_content() or ""
    assert shown.startswith(f"# {HOSTILE}␀␛[2J⟨U+202E⟩\n")
    assert page.locator("button[data-copy]").count() == 0
    assert page.locator("#kernel .note a").get_attribute("href") == "kernels/0002.py"
    assert path.stat().st_size < 3_000_000
    assert dead_links(page) == []


def test_scripts_of_others_are_refused_even_where_escaping_failed(tmp_path: Path, browser: Browser) -> None:
    path = written(tmp_path, timed_events(1))
    path.write_text(path.read_text().replace("<main>", f"<main>{HOSTILE}"))
    page = browser.new_page()
    page.goto(path.as_uri())
    assert page.title() == "39_GRU · tilesmith"
    page.close()


def test_five_hundred_attempts_open_in_two_seconds(tmp_path: Path, opened: Opener) -> None:
    lines = "".join(f"    value_{number} = {number}\n" for number in range(300))
    path = written(tmp_path, timed_events(500, KERNEL + lines))
    times: list[float] = []
    while len(times) < 8 and min(times, default=2.0) >= 2:  # the machine may be busy with other tests
        began = time.perf_counter()
        page = opened(path)
        assert page.locator(".filters output").text_content() == "500 of 500"
        times.append(time.perf_counter() - began)
    assert min(times) < 2, times


def test_a_run_with_nothing_in_it_has_a_sound_page(tmp_path: Path, opened: Opener) -> None:
    page = opened(written(tmp_path, ()))
    assert "no kernel has passed" in (page.locator(".told").text_content() or "")
    assert page.locator("svg").count() == 0
    assert dead_links(page) == []


def test_a_verdict_has_a_page_of_its_own(tmp_path: Path, opened: Opener) -> None:
    kernel, path = tmp_path / "kernel.py", tmp_path / "verdict.html"
    kernel.write_text(KERNEL)
    write_verdict_report(path, "task.py", kernel, measured(1.0))
    page = opened(path)
    assert page.locator("h1").text_content() == "kernel.py for task.py"
    assert page.locator("figure svg").count() == 1
    write_verdict_report(path, "task.py", kernel, evaluation(Verdict.WRONG_VALUES))
    page = opened(path)
    assert "Wrong values: 'h_prev[k_ids]'" in (page.locator(".told").text_content() or "")
    assert page.locator("#attempts code").is_visible()
    assert "class ModelNew" in (page.locator("#attempts code").text_content() or "")
    assert dead_links(page) == []
