"""Which way through the agent is tested in which real editor, from the marks of the tests themselves.

A test says what it covers: `@pytest.mark.covers("reject", "new file")`.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1] / "clients"

EDITORS = {
    "Emacs": ("test_emacs_shim.py", "test_emacs_keys.py"),
    "Eglot": ("test_emacs_eglot.py",),
    "lsp-mode": ("test_emacs_lsp_mode.py",),
    "Neovim": ("test_neovim_plugin.py",),
    "Neovim alone": ("test_neovim_stock.py",),
    "VS Code": ("vscode/test_edits.py", "vscode/test_chat.py"),
    "generic VS Code": ("vscode/test_stock.py",),
}
"""Each column, and where its tests are."""

CASES = {
    "edit": "select, choose an action, allow, the edit is in the buffer, undo",
    "ask": "ask at the cursor",
    "reject": "reject: nothing changes",
    "cancel": "cancel in the middle of an answer",
    "unsaved text": "unsaved text survives",
    "two edits": "two edits in one reply",
    "new file": "a new file",
    "killed": "the server is killed and comes back",
}
"""Each row, in words."""


def covered(editor: str) -> set[str]:
    """The cases that the tests in an editor are marked with."""
    return {case for name in EDITORS[editor] for case in _marks(TESTS / name)}


def _marks(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.covers":
                    yield from (ast.literal_eval(argument) for argument in mark.args)


def rows() -> Iterator[tuple[str, ...]]:
    """The table's lines."""
    for case, words in CASES.items():
        yield words, *("✓" if case in covered(editor) else "" for editor in EDITORS)
