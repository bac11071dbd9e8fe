"""Whoever follows a link of the documentation arrives somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted(page for page in (ROOT / "clients").glob("*/README.md")),
]


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def anchors(page: Path) -> set[str]:
    """What the headings of a page can be linked by, as GitHub names them."""
    found: set[str] = set()
    for title in re.findall(r"^#+ +(.*?) *$", prose(page), re.MULTILINE):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
        name = re.sub(r"[^\w\- ]", "", shown).replace(" ", "-")
        again = 0
        while (one := f"{name}-{again}" if again else name) in found:
            again += 1
        found.add(one)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_files_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", prose(page))
    missing = [t for t in targets if "://" not in t and not (page.parent / t).exists()]
    assert missing == []


def test_anchors_are_named_as_github_names_them() -> None:
    """A link to a heading that is spelled otherwise ends at the top of the page."""
    assert "vim-with-cocnvim" in anchors(ROOT / "docs/guide/stock-clients.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_headings_lead_to_one(page: Path) -> None:
    links = re.findall(r"\]\(([^)\s#:]*)#([^)\s]*)\)", prose(page))
    assert [
        link for link in links if link[1] not in anchors((page.parent / link[0]) if link[0] else page)
    ] == []


def test_no_page_names_a_path_of_one_machine() -> None:
    for page in PAGES:
        assert not re.search(r"/(work|root)/", page.read_text(encoding="utf-8")), page
