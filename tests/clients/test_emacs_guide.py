"""The snippets of the Emacs guide do what it says, in a real Emacs."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.support.editors import BESIDE, REPOSITORY, Desk, Tmux, calling, need
from tests.support.emacs import CLIENT, find_emacs, quit_all, start_in_terminal

pytestmark = [pytest.mark.editor, pytest.mark.timeout(240)]

GUIDE = (REPOSITORY / "docs/guide/emacs.md").read_text(encoding="utf-8")
STOCK = (REPOSITORY / "docs/guide/stock-clients.md").read_text(encoding="utf-8")

RENAME = {"old_string": "def indent_of(line", "new_string": "def indentation(line"}

PLAIN = """
(package-initialize)
(global-set-key (kbd "<f5>") #'eglot-code-actions)
(define-key minibuffer-local-completion-map (kbd "SPC") nil)
(setq ring-bell-function #'ignore inhibit-startup-screen t create-lockfiles nil lsp-auto-guess-root t
      lsp-enable-suggest-server-download nil lsp-headerline-breadcrumb-enable nil lsp-enable-file-watchers nil
      lsp-completion-provider :none
      native-comp-async-report-warnings-errors nil)
"""
"""What only the test needs, as there is nobody to answer lsp-mode's own questions."""


def snippet(name: str) -> str:
    match = re.search(rf"<!-- snippet: {name} -->\n```elisp\n(.*?)```", GUIDE, re.DOTALL)
    assert match, f"the guide has no snippet {name!r}"
    return match[1]


Begin = Callable[[str, str], Tmux]


@pytest.fixture
def begin(desk: Desk, tmux: Callable[..., Tmux]) -> Begin:
    """A newcomer's machine: the repository in ~/src, `magent-lsp` in the path, one snippet as init.el."""
    desk.script(calling("edit_file", path=desk.name, **RENAME), {"text": "A better name."})
    (desk.home / "src/magent-lsp/clients").mkdir(parents=True)
    shutil.copytree(CLIENT, desk.home / "src/magent-lsp/clients/emacs")
    program = desk.home / "bin/magent-lsp"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m magent_lsp "$@"\n')
    program.chmod(0o755)

    def run(name: str, until: str) -> Tmux:
        env = {**desk.env, "PATH": f"{program.parent}:{desk.env['PATH']}:{BESIDE}"}
        terminal = start_in_terminal(tmux, desk, PLAIN + snippet(name), env=env, size="120x44")
        terminal.wait(until, 60)
        return terminal

    return run


def test_the_client(begin: Begin) -> None:
    terminal = begin("client", "(Python Magent")
    terminal.keys("C-c", "m", "m")
    terminal.wait("Prompt:", 60)
    terminal.type("find a better name for this function")
    terminal.keys("Enter")
    terminal.wait("y Allow once", 60)
    terminal.keys("C-c", "m", "p", "y")
    terminal.wait("A better name.")
    terminal.wait("\ndef indentation(line: str) -> str:")
    terminal.keys("C-c", "m", "u")
    terminal.wait("taken back: indent.py")
    terminal.wait("\ndef indent_of(line: str) -> str:")


def test_eglot(begin: Begin) -> None:
    terminal = begin("eglot", "[eglot:workspace]")
    terminal.keys("C-Space", "C-e", "M-x")
    terminal.type("eglot-code-actions")
    terminal.keys("Enter")
    terminal.wait("Pick an action")
    terminal.type("Magent: Improve")
    terminal.keys("Enter")
    terminal.wait("Choose an option: Reject", 60)
    terminal.keys("C-a", "C-k")
    terminal.type("Allow once")
    terminal.keys("Enter")
    terminal.wait("A better name.", 60)
    quit_all(terminal)
    terminal.keys("M-<")
    terminal.wait("def indentation(line: str) -> str:")


def test_lsp_mode(begin: Begin) -> None:
    terminal = begin("lsp-mode", "💡")
    terminal.keys("C-Space", "C-e", "M-x")
    terminal.type("lsp-execute-code-action")
    terminal.keys("Enter")
    terminal.wait("Select code action")
    terminal.type("Magent: Improve")
    terminal.keys("Enter")
    terminal.wait("+def indentation", 60)
    terminal.type("Allow once")
    terminal.keys("Enter")
    terminal.wait("A better name.", 60)
    terminal.keys("M-<")
    terminal.wait("def indentation(line: str) -> str:")


def test_the_multiplexer(begin: Begin) -> None:
    for program in ("rass", "pylsp"):
        need(program, "pip install rassumfrassum python-lsp-server")
    terminal = begin("rass", "[eglot:workspace]")

    # Asked again, one after the other: rass leaves a server out that is slow at first.
    answers = ("Pick an action", "No code actions here")
    for _ in range(30):
        terminal.keys("F5")
        if answers[0] in terminal.wait(lambda screen: any(answer in screen for answer in answers)):
            break
        quit_all(terminal)
    terminal.type("Magent: Improve")
    terminal.keys("Enter")
    terminal.wait("Choose an option: Reject", 60)
    terminal.keys("C-a", "C-k")
    terminal.type("Allow once")
    terminal.keys("Enter")
    terminal.wait("A better name.", 60)


def test_the_table_of_keys_is_that_of_the_client() -> None:
    code = """(progn (require 'magent-lsp)
      (map-keymap (lambda (key _) (princ (format "%s " (single-key-description key))))
                  magent-lsp-command-map))"""
    done = subprocess.run(
        [find_emacs(), "--batch", "-q", "-L", str(CLIENT), "--eval", code],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    assert set(re.findall(r"`C-c m (\S)`", GUIDE)) == set(done.stdout.split())


def test_other_clients_are_all_linked_and_named() -> None:
    sections = re.findall(r"^## (.*)$", STOCK, re.MULTILINE)
    anchors = [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in sections]
    assert set(re.findall(r"\]\(#([^)]*)\)", STOCK)) == set(anchors)
    assert len(anchors) > 8
