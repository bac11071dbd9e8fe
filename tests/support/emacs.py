"""A real Emacs for tests: the environment that `tests/clients/emacs/support.el` reads, and batch runs."""

import json
import subprocess
from collections.abc import Callable
from typing import Any

from tests.support.editors import REPOSITORY, Desk, Tmux, need

CLIENT = REPOSITORY / "clients/emacs"
SUPPORT = REPOSITORY / "tests/clients/emacs/support.el"
TRACE = SUPPORT.with_name("trace.el")


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


def start_in_terminal(start: Callable[..., Tmux], desk: Desk, init: str, **options: Any) -> Tmux:
    """Emacs on the desk's file with an init file of this text, by the fixture `tmux` with its options.

    A wait that fails shows the end of what `trace.el` wrote.
    """
    file = desk.home / "init.el"
    file.write_text(init, encoding="utf-8")
    command = [find_emacs(), "-nw", "-q", "-l", str(TRACE), "-l", str(file), str(desk.file)]
    return start(command, **{"env": emacs_environment(desk), "trace": desk.home / "trace", **options})


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
