"""Writes tests/llm/goldens/ anew from the templates. Run it after a change of wording, and read the diff:

python tests/llm/renew_goldens.py
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sample_requests import requests

from tilesmith.llm.prompts import write_prompt

GOLDENS = Path(__file__).parent / "goldens"


def wanted() -> dict[str, str]:
    """Every golden file's name and what it should hold."""
    prompts = {name: write_prompt(request) for name, request in requests().items()}
    request = requests()["seed"]
    systems = {"system": write_prompt(request).system}
    for precision in ("ieee", "tf32"):
        survey = replace(request.survey, environment={**request.survey.environment, "precision": precision})
        systems[f"system_{precision}"] = write_prompt(replace(request, survey=survey)).system
    return systems | {name: prompt.user for name, prompt in prompts.items()}


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
