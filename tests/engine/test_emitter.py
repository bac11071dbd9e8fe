"""Events on their way out: in order, few, and without a secret, however a model cuts it into pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magent_lsp.core.events import Envelope, Notice, TextDeltaEvent
from magent_lsp.core.redact import Redactor
from magent_lsp.engine.emitter import Emitter

SECRET = "abcabcabd-secret"


class Kept:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[Envelope] = []

    def emit(self, event: Envelope) -> None:
        self.events.append(event)

    @property
    def text(self) -> str:
        return "".join(each.event.text for each in self.events if isinstance(each.event, TextDeltaEvent))


@pytest.mark.parametrize("cut", range(1, len(SECRET)))
async def test_a_secret_in_two_pieces_does_not_leave(cut: int) -> None:
    kept, redactor = Kept(), Redactor([SECRET])
    emit = Emitter("run", "session", kept, redactor.text, redactor.unfinished)
    emit(TextDeltaEvent(text=f"it is {SECRET[:cut]}"))
    emit.flush(whole=False)
    assert kept.text.startswith("it is "), "what cannot be a part of it is not held back"
    emit(Notice(level="info", message="something else happens"))
    emit(TextDeltaEvent(text=f"{SECRET[cut:]}!"))
    emit.flush()
    assert kept.text == "it is [redacted]!"


async def test_an_end_that_only_looked_like_a_secret_arrives() -> None:
    kept, redactor = Kept(), Redactor([SECRET])
    emit = Emitter("run", "session", kept, redactor.text, redactor.unfinished)
    emit(TextDeltaEvent(text="abc"))
    emit.flush(whole=False)
    assert kept.text == ""
    emit.flush()
    assert kept.text == "abc"


@given(st.text("ab-", max_size=12), st.lists(st.text("ab-", min_size=8, max_size=12), min_size=1, max_size=3))
def test_what_is_held_is_exactly_what_may_become_a_secret(text: str, secrets: list[str]) -> None:
    held = Redactor(secrets).unfinished(text)
    values = {form for secret in secrets for form in (secret, secret.strip())}
    possible = {n for value in values for n in range(len(value)) if text.endswith(value[:n])}
    assert held == max(n for n in possible if n <= len(text))
