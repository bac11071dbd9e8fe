"""The log: no secrets, no other client's records."""

import logging
import os
from pathlib import Path

import pytest
from lsprotocol import types

from magent_lsp.lsp.log import EditorLog, Redacting, redactor
from magent_lsp.lsp.outcomes import write_answer
from magent_lsp.lsp.parent import is_alive


def test_secrets_are_taken_out() -> None:
    redact = redactor({"OPENAI_API_KEY": "a-secret-value-123", "HOME": "/home/x"})
    record = logging.LogRecord(
        "magent_lsp.x", logging.ERROR, "f", 1, "key %s in %s", ("a-secret-value-123", "/home/x"), None
    )
    text = Redacting("%(message)s", redact).format(record)
    assert text == "key [secret] in /home/x"


@pytest.mark.parametrize(("ours", "count"), [(True, 1), (False, 0)])
def test_a_client_sees_its_own_records_only(ours: bool, count: int) -> None:
    sent: list[types.LogMessageParams] = []
    handler = EditorLog(sent.append, lambda text: text, lambda: ours)
    handler.handle(logging.LogRecord("magent_lsp.x", logging.WARNING, "f", 1, "hello", (), None))
    assert len(sent) == count
    for params in sent:
        assert params.type == types.MessageType.Warning
        assert params.message == "magent_lsp.x: hello"


def test_an_answer_has_a_speaking_name_and_old_ones_go(tmp_path: Path) -> None:
    path = write_answer(tmp_path, "run-1", "What is this? ../../x", "It is\r\nthis. \ud800\n")
    assert path.parent == tmp_path
    assert path.name.startswith("what-is-this-x")
    assert path.read_text(encoding="utf-8").startswith("It is")
    for number in range(120):
        file = write_answer(tmp_path, f"r{number}", "q", "a")
        os.utime(file, (number + 1, number + 1))
    assert len(list(tmp_path.glob("*.md"))) <= 101


def test_processes() -> None:
    assert is_alive(os.getpid())
    assert not is_alive(2**22 + 12345)
