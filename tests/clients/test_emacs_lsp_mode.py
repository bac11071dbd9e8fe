"""lsp-mode in a terminal: our server as an add-on beside another one."""

import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.editors import ONE_PIECE, Desk, Tmux, calling, need
from tests.support.emacs import SUPPORT, emacs_environment, start_in_terminal

pytestmark = [pytest.mark.editor, pytest.mark.timeout(240)]

RENAME = {"old_string": "def indent_of(line", "new_string": "def indentation(line"}

INIT = f"""
(load "{SUPPORT}" nil t)
(require 'lsp-mode) (require 'lsp-modeline) (require 'lsp-headerline)
(define-key minibuffer-local-completion-map (kbd "SPC") nil)
(setq lsp-auto-guess-root t lsp-enable-suggest-server-download nil lsp-enable-file-watchers nil
      lsp-headerline-breadcrumb-enable nil lsp-enable-snippet nil lsp-restart 'ignore
      lsp-completion-provider :none
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
(require 'server)
(setq server-socket-dir (getenv "EMACS_TEST_SOCKETS") server-name "test")
(server-start)
"""


class Emacs:
    """An Emacs in a terminal: keys are pressed, and what a buffer holds is asked for."""

    def __init__(self, terminal: Tmux, desk: Desk, socket: Path) -> None:
        self.terminal, self._desk, self._socket = terminal, desk, socket

    def value(self, form: str) -> str:
        """What a Lisp form gives in the test's buffer, as it is printed."""
        within = f"(with-current-buffer (get-file-buffer test-file) {form})"
        command = [need("emacsclient", "apt-get install emacs-nox"), "-s", str(self._socket)]
        done = subprocess.run(
            [*command, "--eval", within], env=self._desk.env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def text(self) -> str:
        """The text of the test's buffer."""
        copy = self._desk.home / "seen"
        self.value(f'(write-region nil nil "{copy}" nil 0)')
        return copy.read_text(encoding="utf-8")

    def wait_text(self, wanted: str) -> str:
        """The text, once something is in it."""
        self.terminal.wait_until(lambda: wanted in self.text(), 30, f"{wanted!r} in the buffer")
        return self.text()

    def action(self, title: str) -> None:
        """Choose a code action by its title."""
        self.terminal.keys("M-x")
        self.terminal.type("lsp-execute-code-action")
        self.terminal.keys("Enter")
        self.terminal.wait("Select code action")
        self.terminal.type(title)
        self.terminal.wait(f"Select code action: {title}")
        self.terminal.keys("Enter")

    def answer(self, title: str, shown: str) -> None:
        """Answer a question, once what it is about can be seen."""
        self.terminal.wait(shown, 60)
        self.terminal.type(title)
        self.terminal.keys("Enter")

    def said(self, text: str) -> None:
        """Wait until a message of ours was shown, which the next one may have taken away already."""
        log = f'(with-current-buffer (messages-buffer) (not (null (string-search "{text}" (buffer-string)))))'
        self.terminal.wait_until(lambda: self.value(log) == "t", 60, f"{text!r} in a message")

    def quit(self) -> None:
        """Press C-g and see it done, until no region is left: what else was at work may take the first."""
        for _ in range(10):
            self.terminal.keys("C-g")
            with contextlib.suppress(AssertionError):
                self.terminal.wait("Quit", 5)  # a key behind one that Emacs has not read yet is thrown away
            if self.value("mark-active") == "nil":
                return
        raise AssertionError("the region is still there")

    def ready(self) -> None:
        """Wait until both servers serve the buffer."""
        self.terminal.wait(lambda screen: "[magent:" in screen and "[upper:" in screen, 60)
        states = "(mapcar #'lsp--workspace-status (lsp-workspaces))"
        self.terminal.wait_until(
            lambda: self.value(states) == "(initialized initialized)", 60, "both servers have begun"
        )


@pytest.fixture
def emacs(desk: Desk, tmux: Callable[..., Tmux]) -> Iterator[Callable[..., Emacs]]:
    """lsp-mode with both servers: `emacs(replies of the model…)`; without any, those of the model server."""
    sockets = tempfile.TemporaryDirectory(prefix="emacs-")  # a socket's path must be short

    def start(*replies: Mapping[str, Any]) -> Emacs:
        if replies:
            desk.script(*replies)
        env = {**emacs_environment(desk), "EMACS_TEST_SOCKETS": sockets.name}
        terminal = start_in_terminal(tmux, desk, INIT, env=env, size="140x36")
        editor = Emacs(terminal, desk, Path(sockets.name) / "test")
        editor.ready()
        return editor

    yield start
    sockets.cleanup()


Start = Callable[..., Emacs]


@pytest.mark.covers("edit")
def test_allow_and_undo_beside_another_server(desk: Desk, emacs: Start) -> None:
    editor = emacs(calling("edit_file", path=desk.name, **RENAME), {"text": "Renamed it."})
    before = editor.text()
    editor.terminal.keys("C-Space", "C-e")
    editor.action("Magent: Improve")
    assert "Magent: Edit src/indent.py" in editor.terminal.wait("+def indentation", 60)
    editor.answer("Allow once", "+def indentation")
    editor.said("Renamed it.")
    editor.wait_text("def indentation(line: str)")
    assert desk.status() == []
    editor.quit()  # no region, to which undo would be confined
    editor.terminal.keys("C-_")
    assert editor.wait_text("def indent_of(line: str)") == before
    # The other server is still there.
    editor.terminal.keys("M-<", "C-Space", "C-e")
    editor.action("Upper: case")
    editor.wait_text('"""ONE UNIFORM SHIFT')


@pytest.mark.covers("reject")
def test_an_empty_answer_is_no_consent(desk: Desk, emacs: Start) -> None:
    editor = emacs(calling("edit_file", path=desk.name, **RENAME), {"text": "never said"})
    before = editor.text()
    editor.action("Magent: Improve")
    editor.answer("", "+def indentation")
    editor.said("refused")
    assert editor.text() == before


@pytest.mark.covers("ask", "cancel")
def test_ask_at_point_then_cancel_in_the_middle_of_an_answer(desk: Desk, emacs: Start) -> None:
    slow = {"text": ["word ", "and more"], "hold": True}
    desk.model.queue({"text": "It returns the leading blanks."}, slow, {"text": "Still here."})
    editor = emacs()
    before = editor.text()
    editor.action("Magent: Explain")
    editor.said("leading blanks")
    editor.quit()
    editor.terminal.keys("M-<")
    editor.action("Magent: Explain")
    desk.wait_requests(2)
    editor.action("Magent: Cancel")
    editor.said("cancelled")
    editor.quit()
    editor.terminal.keys("M-<")
    editor.action("Magent: Explain")
    editor.said("Still here.")
    assert editor.text() == before


@pytest.mark.parametrize("seconds", ["0.04", "0.1", "0.5"])
def test_what_comes_together_with_an_answer_is_not_lost(desk: Desk, emacs: Start, seconds: str) -> None:
    desk.server[:0] = [sys.executable, str(ONE_PIECE), seconds]
    editor = emacs(
        {"text": "It is here."}, calling("edit_file", path=desk.name, **RENAME), {"text": "Renamed."}
    )
    editor.action("Magent: Explain")
    editor.said("It is here.")
    editor.action("Magent: Improve")
    editor.answer("Allow once", "+def indentation")
    editor.said("Renamed.")


@pytest.mark.covers("unsaved text", "two edits", "new file")
def test_unsaved_text_two_edits_and_a_new_file(desk: Desk, emacs: Start) -> None:
    one = calling("edit_file", path=desk.name, **RENAME)
    two = calling("edit_file", path=desk.name, old_string="BLANKS", new_string="WHITE", replace_all=True)
    new = calling("write_file", path="notes/new.md", content="# New\nλ\n")
    editor = emacs({"calls": one["calls"] + two["calls"] + new["calls"]}, {"text": "All three."})
    editor.terminal.keys("M-<")
    editor.terminal.type("# unsaved")
    editor.terminal.keys("Enter")
    editor.wait_text("# unsaved\n")
    editor.action("Magent: Improve")
    editor.answer("Allow once", "+def indentation")
    editor.answer("Allow once", "strip(WHITE)")
    editor.answer("Allow once", "+# New")
    editor.said("All three.")
    text = editor.wait_text("lstrip(WHITE)")
    assert text.startswith("# unsaved\n")
    assert "def indentation(" in text
    assert "BLANKS" not in text
    assert (desk.root / "notes/new.md").read_text(encoding="utf-8") == "# New\nλ\n"
    assert desk.status() == ["?? notes/"]


@pytest.mark.covers("killed")
def test_a_server_that_was_killed_comes_back(desk: Desk, emacs: Start) -> None:
    editor = emacs(calling("edit_file", path=desk.name, **RENAME), {"text": "Renamed it."})
    editor.terminal.keys("M-<")
    editor.terminal.type("# unsaved")
    editor.terminal.keys("Enter")
    editor.action("Magent: Improve")
    editor.terminal.wait("+def indentation", 60)
    ours = "(cl-find 'magent (lsp-workspaces) :key #'lsp--workspace-server-id)"
    editor.value(f"(signal-process (lsp--workspace-proc {ours}) 'SIGKILL)")
    # Out of the question: until then Emacs does not look at the process.
    editor.terminal.press("C-g", lambda screen: "+def indentation" not in screen)
    editor.terminal.wait_until(
        lambda: editor.value(f"(null {ours})") == "t", 30, "lsp-mode sees that the server has ended"
    )
    assert editor.text().startswith("# unsaved\n")
    editor.terminal.keys("M-x")
    editor.terminal.type("lsp")
    editor.terminal.keys("Enter")
    editor.ready()
    editor.action("Magent: Improve")
    editor.answer("Allow once", "+def indentation")
    editor.said("Renamed it.")
    text = editor.wait_text("def indentation(")
    assert text.startswith("# unsaved\n")
