"""Every link in the documentation leads to something that is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    page
    for page in (*ROOT.glob("*.md"), *ROOT.glob("*/*.md"), *ROOT.glob("*/*/*.md"))
    if ".venv" not in page.parts
]
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    links = LINK.findall(page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_page_of_the_documentation_is_linked_from_its_folder() -> None:
    missing = [
        page.relative_to(ROOT)
        for page in (ROOT / "docs").glob("*/*.md")
        if page.name != "README.md" and page.name not in (page.parent / "README.md").read_text()
    ]
    assert missing == []
