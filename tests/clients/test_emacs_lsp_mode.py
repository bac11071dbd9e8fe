"""lsp-mode in a terminal: our server as an add-on beside another one."""

import json
import sys
from collections.abc import Callable

import pytest

from tests.support.editors import Desk, Tmux, calling
from tests.support.emacs import SUPPORT, emacs_environment, find_emacs

pytestmark = [pytest.mark.editor, pytest.mark.timeout(240)]

RENAME = {"old_string": "def indent_of(line", "new_string": "def indentation(line"}

INIT = f"""
(load "{SUPPORT}" nil t)
(require 'lsp-mode) (require 'lsp-modeline) (require 'lsp-headerline)
(define-key minibuffer-local-completion-map (kbd "SPC") nil)
(setq lsp-auto-guess-root t lsp-enable-suggest-server-download nil lsp-enable-file-watchers nil
      lsp-headerline-breadcrumb-enable nil lsp-enable-snippet nil
      lsp-session-file (expand-file-name "lsp-session" (getenv "HOME"))
      max-mini-window-height 0.6
      ring-bell-function #'ignore)
(lsp-register-client
 (make-lsp-client :new-connection (lsp-stdio-connection (lambda () test-server))
                  :activation-fn (lsp-activate-on "python")
                  :add-on? t
                  :server-id 'magent))
(lsp-register-client
 (make-lsp-client :new-connection
                  (lsp-stdio-connection '({json.dumps(sys.executable)}
                                          {json.dumps(str(SUPPORT.with_name("upper_server.py")))}))
                  :activation-fn (lsp-activate-on "python")
                  :priority 10
                  :server-id 'upper))
(setq lsp-enabled-clients '(magent upper))
(add-hook 'python-mode-hook #'lsp)
"""


@pytest.fixture
def terminal(desk: Desk, tmux: Callable[..., Tmux]) -> Tmux:
    """lsp-mode with both servers, in which the model wants to rename a function."""
    desk.script(calling("edit_file", path=desk.name, **RENAME), {"text": "Renamed it."})
    init = desk.home / "init.el"
    init.write_text(INIT)
    terminal = tmux(
        [find_emacs(), "-nw", "-q", "-l", str(init), str(desk.file)],
        env=emacs_environment(desk),
        size="140x36",
    )
    terminal.wait(lambda screen: "[magent:" in screen and "[upper:" in screen and "💡" in screen, 60)
    return terminal


def choose_action(terminal: Tmux, title: str) -> None:
    terminal.keys("M-x")
    terminal.type("lsp-execute-code-action")
    terminal.keys("Enter")
    terminal.wait("Select code action")
    terminal.type(title)
    terminal.keys("Enter")


def test_allow_and_undo_beside_another_server(terminal: Tmux) -> None:
    terminal.keys("C-Space", "C-e")
    choose_action(terminal, "Magent: Improve")
    screen = terminal.wait("+def indentation", 60)
    assert "Magent: Edit src/indent.py" in screen
    terminal.type("Allow once")
    terminal.keys("Enter")
    terminal.wait("Renamed it.", 60)
    terminal.keys("M-<")
    terminal.wait("def indentation(line: str)")
    terminal.keys("C-_")
    terminal.wait("def indent_of(line: str)")
    # The other server is still there.
    terminal.keys("M-<", "C-Space", "C-e")
    choose_action(terminal, "Upper: case")
    terminal.wait('"""ONE UNIFORM SHIFT')


def test_an_empty_answer_is_no_consent(terminal: Tmux) -> None:
    choose_action(terminal, "Magent: Improve")
    terminal.wait("+def indentation", 60)
    terminal.keys("Enter")
    terminal.wait("refused", 60)
    terminal.keys("M-<")
    terminal.wait("def indent_of(line: str)")
