"""A key that reaches a log, a transcript or the model is a key that must be changed."""

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
