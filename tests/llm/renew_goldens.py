"""Writes tests/llm/goldens/ anew from the templates. Run it after a change of wording, and read the diff:

python tests/llm/renew_goldens.py
"""

from __future__ import annotations

from pathlib import Path

from sample_requests import requests

from tilesmith.llm.prompts import write_prompt

GOLDENS = Path(__file__).parent / "goldens"


def wanted() -> dict[str, str]:
    """Every golden file's name and what it should hold."""
    prompts = {name: write_prompt(request) for name, request in requests().items()}
    system = next(iter(prompts.values())).system
    return {"system": system} | {name: prompt.user for name, prompt in prompts.items()}


def main() -> None:
    GOLDENS.mkdir(exist_ok=True)
    texts = wanted()
    for stale in set(GOLDENS.glob("*.md")) - {GOLDENS / f"{name}.md" for name in texts}:
        stale.unlink()
    for name, text in texts.items():
        (GOLDENS / f"{name}.md").write_text(text, encoding="utf-8")
    print(f"{len(texts)} goldens in {GOLDENS}")


if __name__ == "__main__":
    main()
