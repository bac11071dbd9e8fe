"""The first lines that a person copies are the same wherever they are copied from."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = ("README.md", "docs/guide/neovim.md", "docs/guide/emacs.md", "docs/guide/stock-clients.md")


def block(page: str, language: str, words: str) -> str:
    """The first block of a page in a language that holds some words."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = [each for each in re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL) if words in each]
    assert found, (page, language, words)
    return found[0]


@pytest.mark.parametrize(
    ("language", "words", "pages"),
    [
        ("lua", "vim.lsp.config('magent_lsp'", (PAGES[0], PAGES[1], PAGES[3])),
        ("elisp", "eglot-server-programs", (PAGES[0], PAGES[2], PAGES[3])),
        ("elisp", "lsp-register-client", (PAGES[2], PAGES[3])),
    ],
)
def test_a_snippet_is_the_same_on_every_page(language: str, words: str, pages: tuple[str, ...]) -> None:
    assert len({block(page, language, words) for page in pages}) == 1


def test_the_lines_for_other_editors_in_the_readme_are_those_of_their_guide() -> None:
    readme, guide = ((ROOT / page).read_text(encoding="utf-8") for page in (PAGES[0], PAGES[3]))
    sections = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", guide, re.MULTILINE | re.DOTALL))
    folded = re.findall(r"<summary>(.*?)</summary>(.*?)</details>", readme, re.DOTALL)
    assert len(folded) == 8
    for title, text in folded:
        assert re.findall(r"```\w+\n.*?```", text, re.DOTALL)[0] in sections[title], title


def test_the_snippet_of_neovim_is_the_file_that_the_plugin_brings() -> None:
    """Some copy `lsp/magent_lsp.lua`, others the lines of the guide."""
    file = (ROOT / "clients/neovim/lsp/magent_lsp.lua").read_text(encoding="utf-8")
    table = re.search(r"\{.*\}", block(PAGES[0], "lua", "vim.lsp.config"), re.DOTALL)
    assert table
    assert table[0] in file


def test_nobody_is_told_to_install_a_package_of_an_index() -> None:
    """The project is installed from a checkout: that name on an index gives what somebody put there."""
    kinds = {".md", ".el", ".lua", ".ts", ".json", ".py"}
    files = [file for file in (ROOT / "clients").rglob("*") if file.suffix in kinds]
    own = [file for file in files if not {"node_modules", "dist"} & set(file.parts)]
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    told = re.compile(r"(install|uvx)\W{1,6}magent-lsp\b(?![/-])")
    assert [file for file in (*own, *pages) if told.search(file.read_text(encoding="utf-8"))] == []
