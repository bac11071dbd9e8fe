"""Who may connect."""

from pathlib import Path

import pytest

from magent_lsp.core.errors import CallerError, UserError
from magent_lsp.lsp.network import admission, is_loopback, refuse
from magent_lsp.lsp.server import host_and_port


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.1.2.3"])
def test_this_machine(host: str) -> None:
    assert is_loopback(host)
    assert admission(host, None) is None


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "", "no.such.host.invalid"])
def test_other_machines_need_a_token(host: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--token-file"):
        admission(host, None)
    secret = tmp_path / "token"
    secret.write_text("s3cret\n")
    assert admission(host, secret) == "s3cret"


def test_a_token_file_must_hold_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        admission("127.0.0.1", tmp_path / "missing")
    (tmp_path / "empty").write_text(" \n")
    with pytest.raises(UserError, match="empty"):
        admission("127.0.0.1", tmp_path / "empty")


@pytest.mark.parametrize(
    ("headers", "path", "token", "refused"),
    [
        ({}, "/", None, None),
        ({"Origin": "https://evil.example"}, "/", None, 403),
        ({}, "/", "t", 401),
        ({"Authorization": "Bearer t"}, "/", "t", None),
        ({"Authorization": "bearer t"}, "/", "t", None),
        ({"Authorization": "Basic t"}, "/", "t", 401),
        ({"Authorization": "Bearer x"}, "/?token=t", "t", 401),
        ({}, "/?token=t", "t", None),
        ({}, "/?token=", "t", 401),
        ({"Origin": "https://editor.example"}, "/?token=t", "t", None),
    ],
)
def test_handshakes(headers: dict[str, str], path: str, token: str | None, refused: int | None) -> None:
    assert refuse(headers, path, token) == refused


@pytest.mark.parametrize(
    ("value", "host", "port"),
    [
        ("127.0.0.1:7000", "127.0.0.1", 7000),
        ("[::1]:0", "::1", 0),
        ("7000", "127.0.0.1", 7000),
        (":80", "127.0.0.1", 80),
    ],
)
def test_addresses(value: str, host: str, port: int) -> None:
    assert host_and_port(value) == (host, port)


@pytest.mark.parametrize("value", ["", "host", "host:", "host:http", "host:70000", "host:-1"])
def test_no_addresses(value: str) -> None:
    with pytest.raises(CallerError, match="HOST:PORT"):
        host_and_port(value)
