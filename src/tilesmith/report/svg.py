"""A matplotlib figure as an SVG element that takes its colors and its font from the page around it."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from markupsafe import Markup

from tilesmith.report.source_text import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLORS = {
    name: f"#0102{number:02x}"
    for number, name in enumerate(
        ("ink", "muted", "line", "paper", "good", "bad", "c1", "c2", "c3", "c4", "c5", "c6"), start=16
    )
}
"""Drawn in these, shown in the page's variables of the same names."""
_SVG, _LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_FONT = re.compile(r"font: (?:\w+ )*?([\d.]+px)[^;]*|font-family:[^;]*;?")
_COLOR = re.compile("|".join(COLORS.values()))
_NAMES = {color: name for name, color in COLORS.items()}


def svg_element(figure: Figure, name: str, title: str, description: str) -> Markup:
    """The figure for the page; `name` makes its ids unlike those of any other."""
    from matplotlib import rc_context

    written = io.BytesIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None})
    root = ElementTree.fromstring(visible(written.getvalue().decode()))  # XML forbids control characters
    for element in list(root):
        if element.tag == f"{{{_SVG}}}metadata" or element.find(f"{{{_SVG}}}style") is not None:
            root.remove(element)  # who drew it, and a style that would hold for the whole page
    for element in root.iter():
        _fit_into_page(element)
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-labelledby": f"{name}-title {name}-desc"}
    for place, (kind, text) in enumerate((("title", title), ("desc", description))):
        told = ElementTree.Element(f"{{{_SVG}}}{kind}", {"id": f"{name}-{kind}"})
        told.text = visible(text)
        root.insert(place, told)
    ElementTree.register_namespace("", _SVG)
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _fit_into_page(element: ElementTree.Element) -> None:
    if element.tag == f"{{{_SVG}}}g":
        element.attrib.pop("id", None)
    target = element.attrib.pop(f"{{{_LINK}}}href", None)
    if target is not None:
        element.set("href", target)
    style = element.get("style")
    if style is not None:
        style = _FONT.sub(lambda match: f"font-size: {match[1]}" if match[1] else "", style)
        element.set("style", _COLOR.sub(lambda match: f"var(--{_NAMES[match[0]]})", style))
