"""A view as one HTML file: no network, no script but our own, nothing in it that a kernel wrote is ever markup."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from tilesmith.errors import RunError
from tilesmith.records import KernelResources
from tilesmith.report.number_text import power, ratio_text, short_number, with_times_signs
from tilesmith.report.plots import plots_of
from tilesmith.report.source_text import highlighted, shown_source, visible
from tilesmith.report.view import ReportView
from tilesmith.runs.atomic_files import write_atomically
from tilesmith.runs.event_text import count_text

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True)
class ServedPage:
    """What is different about a page that `tilesmith serve` shows."""

    news: str | None = None
    """Where it is told of new events; null where there will be none."""
    more_style: str = ""


def write_page(view: ReportView, path: Path) -> None:
    write_template(path, "page.html.j2", view=view, plots=plots_of(view))


def write_template(path: Path, template: str, **values: Any) -> None:
    """A page in one step: whoever has the old one open never sees half of the new one."""
    try:
        write_atomically(path, render(template, values))
    except OSError as error:
        raise RunError(f"{path}: the report cannot be written: {error.strerror}; name another file") from None


def render_served_run(view: ReportView, served: ServedPage) -> str:
    return render("page.html.j2", {"view": view, "plots": plots_of(view)}, served)


def render(
    template: str, values: dict[str, Any], served: ServedPage | None = None, environment: Environment | None = None
) -> str:
    """A served page has its policy in the header of the answer."""
    style, script = page_file("report.css"), served_script() if served else page_file("report.js")
    policy = "" if served else page_policy((style,), script, "form-action 'none'")
    page = (environment or page_environment()).get_template(template)
    return page.render(values, served=served, policy=policy, style=Markup(style), script=Markup(script))


def served_script() -> str:
    return page_file("live.js") + page_file("report.js")


def page_policy(styles: tuple[str, ...], script: str, *more: str) -> str:
    """What a browser may do on a page: our own styles and script, known by their digests, and nothing else."""
    rules = (
        "default-src 'none'",
        "img-src data:",
        f"style-src-elem {' '.join(map(_fingerprint, styles))}",
        "style-src-attr 'unsafe-inline'",
        f"script-src {_fingerprint(script)}",
        "base-uri 'none'",
    )
    return "; ".join((*rules, *more))


def page_file(name: str, package: str = "tilesmith.report") -> str:
    return (resources.files(package) / "templates" / name).read_text(encoding="utf-8")


def _fingerprint(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def page_environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("tilesmith.report", "templates"),
        undefined=StrictUndefined,
        autoescape=True,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(
        alike=alike,
        breakable=breakable,
        code=highlighted,
        count=count_text,
        download=download,
        python=lambda text: highlighted(shown_source(text)),
        power=power,
        ratio=ratio_text,
        short=short_number,
        times=with_times_signs,
    )
    return made


def _finalize(value: Any) -> Any:
    """Every plain text on its way to the page."""
    return value if isinstance(value, Markup) or not isinstance(value, str) else visible(value)


def alike(found: Iterable[KernelResources]) -> list[tuple[KernelResources, int]]:
    """Specializations of a kernel that need the same, each once and how many there are."""
    return list(Counter(replace(one, arguments=None) for one in found).items())


def breakable(name: str) -> Markup:
    """A name that may go on in the next line after a slash or an underscore, before it goes on anywhere."""
    return Markup(re.sub(r"(?<=[/_])(?=\w)", "<wbr>", str(escape(visible(name)))))


def download(text: str) -> str:
    """An address that holds the text itself."""
    return f"data:text/x-python;base64,{base64.b64encode(text.encode()).decode()}"
