"""The desk itself: if it were wrong, every editor's test would be."""

import subprocess
from collections.abc import Callable

import pytest

from tests.support.editors import Desk, Tmux, calling, missing, wait_until

pytestmark = pytest.mark.editor


def test_a_run_at_the_desk(desk: Desk) -> None:
    desk.model.queue(calling("read_file", path=desk.name), {"text": "It indents."})
    command = [*desk.server[:-1], "run", "What does it do?", "--cwd", str(desk.root)]
    done = subprocess.run(command, env=desk.env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "It indents." in done.stdout
    result = desk.wait_requests(2)[1]["messages"][-1]
    assert result["role"] == "tool"
    assert "def " in result["content"]
    assert desk.status() == []


def test_a_terminal_shows_what_runs_in_it(tmux: Callable[..., Tmux]) -> None:
    terminal = tmux(["cat"])
    terminal.type("hello λ")
    terminal.keys("Enter", "C-d")
    assert terminal.wait("EXIT 0").count("hello λ") == 2


def test_what_never_happens_fails_with_its_name() -> None:
    with pytest.raises(AssertionError, match="the moon"):
        wait_until(lambda: False, 0.1, "the moon")


def test_a_missing_editor_fails_only_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="apt-get install ed"):
        missing("ed", "apt-get install ed")
    monkeypatch.setenv("CI", "")
    with pytest.raises(pytest.skip.Exception, match="apt-get install ed"):
        missing("ed", "apt-get install ed")
