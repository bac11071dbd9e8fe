"""A key that reaches a log, a transcript or the model is a key that must be changed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magent_lsp.core.redact import MASK, Redactor


def test_every_spelling_of_a_secret_is_taken_out() -> None:
    redactor = Redactor(["sk-12345678", ' multi\n"line"\\key ', "short"])
    assert redactor.text("key=sk-12345678, sk-12345678.") == f"key={MASK}, {MASK}."
    assert "line" not in redactor.text('{"k": "multi\\n\\"line\\"\\\\key"}')
    others = Redactor(["a/key+of=64", "schlüssel-1"])
    assert (
        others.text(r'{"k": "a\/key+of=64", "l": "schl\u00fcssel-1"}') == f'{{"k": "{MASK}", "l": "{MASK}"}}'
    )
    assert redactor.text("short stays") == "short stays"
    assert "12345678" not in repr(redactor)


PEM = """-----BEGIN RSA PRIVATE KEY-----
MIIEowIBAAKCAQEAy8Dbv8prpJ/0kKhlGeJYozo2t60EG8L0561g13R29LvMR5hy
vGZlGJpmn65+A4xHXInJYiPuKzrKUnApeLZ+vw1HocOAZtWK0z3r26uA8kQYOKX9
-----END RSA PRIVATE KEY-----
"""


def test_the_lines_of_a_key_are_taken_out_one_by_one() -> None:
    """As they are read with numbers before them, found by a search, or indented in another file."""
    redactor = Redactor([PEM])
    lines = PEM.splitlines()
    shown = redactor.text("\n".join(f"{number:>6}\t    {line}" for number, line in enumerate(lines, 1)))
    assert not any(line in shown for line in lines[1:3])
    assert "BEGIN RSA PRIVATE KEY" in shown
    assert lines[1] not in redactor.text(f"config.yaml:7:{lines[1]}")
    assert "[redacted]" in redactor.text(json.dumps(PEM))


def test_ordinary_words_beside_a_key_stay() -> None:
    account = json.dumps(
        {"type": "service_account", "key": PEM, "token_uri": "https://oauth2.example.com/a/long/way"},
        indent=2,
    )
    redactor = Redactor([account])
    assert redactor.text("type: service_account of https://oauth2.example.com/a/long/way") == (
        "type: service_account of https://oauth2.example.com/a/long/way"
    )
    assert "MIIEow" not in redactor.text(account)
    assert "MIIEow" not in redactor.text(json.dumps({"key": PEM}, indent=4))


KEY = "sk-proj-ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


@pytest.mark.parametrize("at", range(1, len(KEY)))
def test_what_a_cut_leaves_of_a_secret_is_taken_out(at: int) -> None:
    redactor = Redactor([KEY])
    for note in (" [… 119 more characters]", "\n[… 5,000 characters left out …]\n"):
        shown = redactor.text(f"key = {KEY[:at]}{note}{KEY[at:]}; next")
        assert shown.startswith("key = ")
        assert shown.endswith("; next")
        assert KEY[: max(at, 8)] not in shown
        assert KEY[min(at, len(KEY) - 8) :] not in shown
        assert note in shown


def test_a_cut_beside_other_text_takes_nothing() -> None:
    text = "some words\n[… 20 characters left out …]\nmore words [… 7 more characters]"
    assert Redactor([KEY]).text(text) == text


def test_a_secret_that_begins_like_another_leaves_no_tail() -> None:
    assert Redactor(["secret-one", "secret-one-long"]).text("secret-one-long") == MASK


def test_without_secrets_nothing_changes() -> None:
    assert Redactor([]).text("anything") == "anything"
    assert Redactor(["", " ", "abc"]).text("abc ") == "abc "


@given(st.lists(st.text(min_size=8, max_size=20), max_size=5), st.text(max_size=50), st.text(max_size=50))
def test_no_secret_survives(secrets: list[str], before: str, after: str) -> None:
    redactor = Redactor(secrets)
    for secret in secrets:
        cleaned = redactor.text(before + secret + after)
        assert secret in MASK or secret not in cleaned.replace(MASK, "|")
