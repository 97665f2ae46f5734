"""Served pages in a real browser, while runs go on."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from recorded_run import recorded_run
from sample_run import manifest
from timed_run import KERNEL, finished_run, make_run, timed_events

from tilesmith.records import AttemptEvent, FinishedEvent
from tilesmith.runs import Status

if TYPE_CHECKING:
    from playwright.sync_api import Page

Opener = Callable[..., "Page"]
HOSTILE = "</td><script>document.title = 'run'</script><img src=x onerror=\"document.title='run'\">"


def rows(page: Page) -> list[str]:
    return page.eval_on_selector_all(".runs tbody a", "all => all.map(one => one.textContent)")


def overflow(page: Page) -> int:
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


@pytest.fixture
def three(runs: Path) -> None:
    finished_run(runs, timed_events(2))
    make_run(runs, head=manifest("softmax", "2026-05-03T10:00:00+00:00")).close()
    damaged = runs / "2026-05-02-broken-1"
    damaged.mkdir()
    (damaged / "run.json").write_text("{")


@pytest.mark.usefixtures("three")
def test_the_list_is_searched_and_filtered(opened: Opener) -> None:
    page = opened()
    names = ["2026-05-03-softmax-1", "2026-05-02-broken-1", "2026-05-01-39_GRU-1"]
    assert rows(page) == names
    for field, text, found in (
        ("words", "softmax gpt-x", names[:1]),
        ("task", "3?_GRU*", names[2:]),
        ("min_speedup", "1.5", names[2:]),
        ("words", "nothing of the kind", []),
    ):
        page.fill(f"[name={field}]", text)
        page.click("text=Search")
        page.wait_for_load_state()
        assert rows(page) == found, field
        assert page.input_value(f"[name={field}]") == text
        page.fill(f"[name={field}]", "")
    for field, value, found in (("status", "damaged", names[1:2]), ("verdict", "compile_error", names[:1])):
        page.select_option(f"[name={field}]", value)
        page.click("text=Search")
        page.wait_for_load_state()
        assert rows(page) == found, field
        page.select_option(f"[name={field}]", "")
    page.fill("[name=min_speedup]", "much")
    page.click("text=Search")
    assert "not a number" in (page.locator(".problem").text_content() or "")


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize("width", [390, 1280])
def test_every_page_fits_and_two_runs_can_be_compared(opened: Opener, width: int) -> None:
    page = opened(width=width, scheme="dark")
    assert overflow(page) == 0
    page.check("[id='a-2026-05-01-39_GRU-1']")
    page.check("[id='b-2026-05-03-softmax-1']")
    page.click("text=Compare A and B")
    page.wait_for_load_state()
    assert overflow(page) == 0
    assert "different tasks: 39_GRU and softmax" in (page.locator(".problem").first.text_content() or "")
    over_eager = page.locator("tr", has_text="over eager").locator("td").all_text_contents()
    assert over_eager == ["4.00× (3.60 to 4.40)", "1.36× (1.35 to 1.37)"]
    assert (
        "Over eager: the first has the larger speedup; the intervals do not overlap."
        in page.locator(".told").all_text_contents()
    )
    assert page.locator("h2").text_content() == "From kernel 2 of the first run to kernel 4 of the second"
    assert (page.locator("pre").text_content() or "").startswith("@@ ")
    page.click("thead a >> nth=1")
    page.wait_for_load_state()
    assert page.locator("h1").text_content() == "39_GRU"
    assert overflow(page) == 0
    page.click("text=All runs")
    page.wait_for_load_state()
    assert page.locator("h1").text_content() == "Runs"


def test_a_run_beside_itself_is_said_to_be_the_same(opened: Opener, runs: Path) -> None:
    name = recorded_run(runs).name
    page = opened(f"/compare?a={name}&b={name}")
    told = "Over eager, graph, compile: the intervals overlap, so neither speedup is known to be larger."
    assert page.locator(".told").all_text_contents() == [told]
    assert page.locator(".differs").count() == 0
    assert page.locator("main > p").last.text_content() == "Both are the same text."


def test_every_link_of_a_run_leads_somewhere(opened: Opener, runs: Path) -> None:
    folder = finished_run(runs, timed_events(6))
    page = opened(f"/runs/{folder.name}")
    assert page.url.endswith(f"/runs/{folder.name}/")
    assert page.locator("figure svg").count() == 3
    assert page.evaluate("document.body.dataset.news") is None
    links = page.eval_on_selector_all("a:not([href^='#'])", "all => [...new Set(all.map(one => one.href))]")
    assert len(links) >= 5
    assert [page.request.get(link).status for link in links] == [200] * len(links)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("button[data-copy]")
    page.wait_for_selector("button:text-is('Copied')")


def test_a_page_follows_a_run_and_stays_where_it_is_read(opened: Opener, runs: Path) -> None:
    *events, last, end = timed_events(8, KERNEL + "    # a comment\n" * 200)
    run = make_run(runs, tuple(events))
    overview, page = opened(), opened(f"/runs/{run.path.name}/")
    page.evaluate("window.loaded = 'once'")
    page.locator("#attempt-3 summary").click()
    page.locator("#attempt-3").evaluate("one => one.scrollIntoView()")
    page.select_option("[name=phase]", "optimize")
    place = page.locator("#attempt-3").bounding_box()
    assert page.locator("#attempt-8").count() == 0
    assert (page.locator(".told").text_content() or "").startswith("The run goes on; the best so far")

    run.record(last)
    page.wait_for_selector("#attempt-8", state="attached")
    assert page.locator("#attempt-3").get_attribute("open") is not None
    assert page.locator("#attempt-4").get_attribute("open") is None
    assert page.locator(".filters output").text_content() == "7 of 8"
    now = page.locator("#attempt-3").bounding_box()
    assert place is not None
    assert now is not None
    assert abs(place["y"] - now["y"]) <= 2
    assert "best so far is kernel 8" in (page.locator(".told").text_content() or "")
    overview.wait_for_selector(".runs td:nth-child(6):text-is('8')")

    run.record(end)
    run.set_status(Status.FINISHED, "done")
    run.close()
    page.wait_for_selector(".told:has-text('Kernel 8 is right')")
    page.wait_for_selector("#following", state="detached")
    assert page.evaluate("window.loaded") == "once"
    assert page.locator("#attempt-3").get_attribute("open") is not None
    overview.wait_for_selector("td:text-is('finished')")


def test_a_killed_run_is_followed_to_its_end(opened: Opener, runs: Path) -> None:
    run = make_run(runs, timed_events(1)[:-1])
    page = opened(f"/runs/{run.path.name}/")
    assert "The run goes on" in (page.locator(".told").text_content() or "")
    with (run.path / "events.jsonl").open("ab") as journal:
        journal.write(b'{"event": "attem')
    run.close()
    page.wait_for_selector(".told:has-text('The run is interrupted')")
    assert page.locator("details.attempt").count() == 1


@pytest.mark.slow
def test_a_page_follows_a_forge_from_its_beginning(opened: Opener, runs: Path, fixtures: Path) -> None:
    page = opened()
    page.evaluate("window.loaded = 'once'")
    words = ("forge", fixtures / "tasks/relu.py", "--effort", "quick", "--device", "cpu", "--runs", runs)
    command = [sys.executable, "-m", "tilesmith", *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as forge:
        page.wait_for_selector(".runs a", timeout=60_000)
        assert page.evaluate("window.loaded") == "once"
        page.click(".runs a")
        page.wait_for_selector("#following")
        page.evaluate("window.loaded = 'once'")
        page.wait_for_selector("#following", state="detached", timeout=120_000)
        forge.wait(60)
    assert page.evaluate("window.loaded") == "once"
    assert page.locator("details.attempt").count() > 0
    assert "(finished)" in (page.locator(".facts").text_content() or "")


def test_damaged_runs_are_listed_and_say_what_is_wrong(opened: Opener, runs: Path) -> None:
    torn = finished_run(runs, timed_events(2))
    (torn / "run.json").unlink()
    with (torn / "events.jsonl").open("ab") as journal:
        journal.write(b'no event\n{"event": "attem')
    odd = finished_run(runs)
    head = json.loads((odd / "run.json").read_text())
    (odd / "run.json").write_text(json.dumps(head | {"why": ["a list"], "configuration": "none", "task_path": 5}))
    (runs / "2026-05-09-empty-1").mkdir()
    (runs / "2026-05-09-empty-1/events.jsonl").touch()
    page = opened("/?words=damaged")
    assert len(rows(page)) == 3
    own = page.url.partition("/?")[0]
    assert page.request.get(f"{own}/runs/2026-05-09-empty-1/").status == 404
    assert page.request.get(f"{own}/compare?a={torn.name}&b={torn.name}").status == 404
    answer = page.request.get(f"{own}/runs/{odd.name}/")
    assert "<h1>" in answer.text()
    page.goto(f"{own}/runs/{torn.name}/")
    assert page.locator("details.attempt").count() == 2
    problems = page.locator(".problem").all_text_contents()
    assert len(problems) == 2
    assert "has no run.json" in problems[0]
    assert "not an event" in problems[1]


def test_nothing_hostile_is_run(opened: Opener, runs: Path) -> None:
    first, *rest = timed_events(2)
    hostile = [
        AttemptEvent(replace(one.attempt, why=HOSTILE, candidate=replace(one.attempt.candidate, source=HOSTILE)))
        if isinstance(one, AttemptEvent)
        else replace(one, why=HOSTILE)
        if isinstance(one, FinishedEvent)
        else one
        for one in rest
    ]
    run = make_run(runs, (first, hostile[0]), manifest(HOSTILE, author=HOSTILE))
    plain = run.path
    page = opened(f"/runs/{plain.name}/")
    for event in hostile[1:]:
        run.record(event)
    run.set_status(Status.FINISHED, HOSTILE)
    run.close()
    page.wait_for_selector("#attempt-2", state="attached")
    odd = plain.rename(runs / "a'\"> <img src=x>&%#?\u202e")
    page.goto(page.url.partition("/runs")[0])
    assert rows(page) == [odd.name.replace("\u202e", "⟨U+202E⟩")]
    assert page.locator("img").count() == 0
    page.click(".runs a")
    page.wait_for_load_state()
    assert page.locator(".told").text_content() == HOSTILE
    assert page.title() == "39_GRU · tilesmith"
    assert (page.locator("img").count(), page.locator("script").count()) == (0, 1)
