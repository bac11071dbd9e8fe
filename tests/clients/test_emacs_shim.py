"""The Emacs client in a real Emacs: what a person sees and does with `C-c m`."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.editors import REPOSITORY, Desk, calling, need

pytestmark = pytest.mark.editor

CLIENT = REPOSITORY / "clients/emacs"
SUPPORT = Path(__file__).parent / "emacs/support.el"

Batch = Callable[[str], str]


def emacs_environment(desk: Desk) -> dict[str, str]:
    """The environment that `support.el` reads."""
    server = " ".join(json.dumps(part) for part in desk.server)
    return {
        **desk.env,
        "MAGENT_TEST_FILE": str(desk.file),
        "MAGENT_TEST_SERVER": f"({server})",
        "MAGENT_TEST_CLIENT": str(CLIENT),
    }


@pytest.fixture
def batch(desk: Desk) -> Batch:
    """Evaluates Emacs Lisp in a real Emacs; what it prints comes back, a failed check fails the test."""
    emacs = need("emacs", "apt-get install emacs-nox elpa-eglot elpa-lsp-mode")

    def run(code: str) -> str:
        script = desk.home / "test.el"
        script.write_text(f";;; -*- lexical-binding: t -*-\n{code}\n(kill-emacs 0)\n", encoding="utf-8")
        done = subprocess.run(
            [emacs, "--batch", "-q", "-l", str(SUPPORT), "-l", str(script)],
            cwd=desk.root,
            env=emacs_environment(desk),
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-6000:]
        return done.stdout

    return run


RENAME = {"old_string": "def indent_of(line", "new_string": "def indentation(line"}


def rename(desk: Desk) -> None:
    """The model looks at the file, and renames a function."""
    desk.model.queue(
        calling("read_file", path=desk.name),
        calling("edit_file", "I rename it.", path=desk.name, **RENAME),
        {"text": "It has a **better** name now."},
    )


def test_an_edit_is_shown_allowed_made_and_taken_back(desk: Desk, batch: Batch) -> None:
    rename(desk)
    batch("""
    (test-begin)
    (goto-char (point-min))
    (search-forward "indent_of")
    (magent-lsp-prompt "Find a better name")
    (with-current-buffer (test-asks)
      (test-check (test-has "+def indentation(line" (current-buffer)))
      (goto-char (point-min))
      (search-forward "+def indentation")
      (test-check (eq (get-text-property (1- (point)) 'face) 'diff-added))
      (test-check (test-has "y Allow once" (current-buffer))))
    (test-check (string-search "asks you" (magent-lsp--lighter)))
    (test-check (not (test-has "def indentation")))
    (test-press "y" (test-asks))
    (test-ended)
    (test-check (test-has "def indentation(line: str)"))
    (test-check (null (get-buffer (magent-lsp--approval-buffer test-conn))))
    (with-current-buffer (test-conversation)
      (dolist (text '("❯ Find a better name" "✓ read_file" "edited src/indent.py"
                      "+def indentation(line" "It has a **better** name now."
                      "done · 1 of 1 edits applied"))
        (test-check (test-has text (current-buffer))))
      (goto-char (point-min))
      (search-forward "better** name")
      (test-check (eq (get-text-property (- (point) 10) 'face) 'bold)))
    ;; The file had no unsaved text, so it was saved.
    (test-check (string-search "def indentation" (test-disk)))
    (magent-lsp-undo-run)
    (test-until (not (test-has "def indentation")))
    (test-check (test-has "def indent_of(line: str)"))
    (test-until (string-search "def indent_of" (test-disk)))
    (magent-lsp-redo-run)
    (test-until (test-has "def indentation"))
    """)
    assert "indent_of" in json.dumps(desk.model.requests()[0]["messages"])
