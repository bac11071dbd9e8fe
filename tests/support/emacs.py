"""A real Emacs for tests: the environment that `tests/clients/emacs/support.el` reads, and batch runs."""

import json
import subprocess

from tests.support.editors import REPOSITORY, Desk, Tmux, need

CLIENT = REPOSITORY / "clients/emacs"
SUPPORT = REPOSITORY / "tests/clients/emacs/support.el"


def find_emacs() -> str:
    """The program."""
    return need("emacs", "apt-get install emacs-nox elpa-eglot elpa-lsp-mode")


def emacs_environment(desk: Desk) -> dict[str, str]:
    """The environment that `support.el` reads."""
    server = " ".join(json.dumps(part) for part in desk.server)
    return {
        **desk.env,
        "EMACS_TEST_FILE": str(desk.file),
        "EMACS_TEST_SERVER": f"({server})",
        "EMACS_TEST_CLIENT": str(CLIENT),
    }


def quit_all(terminal: Tmux) -> None:
    """Press C-g and see it done: a key sent behind one that Emacs has not read yet is thrown away with it."""
    terminal.keys("C-g")
    terminal.wait("Quit")


def run_batch(desk: Desk, code: str) -> str:
    """What Emacs Lisp prints in a batch Emacs; a check of it that fails fails the test."""
    script = desk.home / "test.el"
    script.write_text(f";;; -*- lexical-binding: t -*-\n{code}\n(kill-emacs 0)\n", encoding="utf-8")
    done = subprocess.run(
        # -q and not -Q, which hides the packages that Debian installs
        [find_emacs(), "--batch", "-q", "-l", str(SUPPORT), "-l", str(script)],
        cwd=desk.root,
        env=emacs_environment(desk),
        capture_output=True,
        text=True,
        errors="replace",
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-6000:]
    return done.stdout
