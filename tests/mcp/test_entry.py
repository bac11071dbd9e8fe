"""Entries of `mcpServers`: read as other programs read them, and wrong ones named in words."""

import pytest

from magent_lsp.core.errors import UserError
from magent_lsp.mcp.entry import expanded, read_entry


def test_variables_are_put_in_everywhere() -> None:
    entry = read_entry(
        "s",
        {
            "command": "${HOME}/bin/x",
            "args": ["--port", 8080, "${NONE:-default}"],
            "env": {"TOKEN": "${SECRET}", "DEBUG": True},
        },
    )
    found = expanded(entry, {"HOME": "/home/me", "SECRET": "s3cr3t ${HOME}"})
    assert found.command == "/home/me/bin/x"
    assert found.args == ("--port", "8080", "default")
    assert found.env == {"TOKEN": "s3cr3t ${HOME}", "DEBUG": "true"}, "values are not expanded again"


def test_a_variable_that_is_not_set_is_named() -> None:
    """A server must not start with an empty key and fail in the dark."""
    entry = read_entry("s", {"url": "https://x/mcp", "headers": {"Authorization": "Bearer ${NO_KEY}"}})
    with pytest.raises(UserError, match=r"\$\{NO_KEY\}"):
        expanded(entry, {})


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({}, "needs a `command` or a `url`"),
        ({"command": "x", "url": "http://y"}, "not both"),
        ({"type": "sse", "url": "http://y"}, "'sse'"),
        ({"command": "x", "args": "-v"}, "`args`"),
        ({"command": "x", "timeout": -1}, "`timeout`"),
        ("x", "`entry`"),
    ],
)
def test_what_is_wrong_is_said(value: object, words: str) -> None:
    with pytest.raises(UserError, match=words.replace("(", r"\(")):
        read_entry("s", value)


def test_an_address_is_looked_at_when_it_is_whole() -> None:
    entry = read_entry("s", {"url": "${WHERE}/mcp"})
    assert expanded(entry, {"WHERE": "http://127.0.0.1:1"}).url == "http://127.0.0.1:1/mcp"
    with pytest.raises(UserError, match="http://"):
        expanded(entry, {"WHERE": "file:///etc"})


def test_what_stands_for_a_server_holds_no_secret_value() -> None:
    entry = read_entry("s", {"command": "x", "env": {"TOKEN": "s3cr3t"}})
    assert "s3cr3t" not in repr(entry.identity)
