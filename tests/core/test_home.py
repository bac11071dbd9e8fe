"""A leading `~` means a home folder only where there is one."""

from pathlib import Path

import pytest

from magent_lsp.core.home import expanded


def test_a_home_is_put_in_only_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("USERPROFILE", "/home/me")
    assert expanded("~/a.md") == Path("/home/me/a.md")
    assert expanded(Path("~")) == Path("/home/me")
    assert expanded("~no such person/a.md") == Path("~no such person/a.md")
    assert expanded("a~/~b") == Path("a~/~b")
