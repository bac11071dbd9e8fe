"""No message has half of a character, and nothing else of it is another."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from magent_lsp.core.halves import whole
from magent_lsp.lsp.readable import readable

PIECES = st.sampled_from(["a", "\\", '"', "\ud800", "\udbff", "\udc00", "\U0001f600", "\\ud800", "ud83d"])


@given(st.lists(st.one_of(PIECES, st.text(max_size=3)), max_size=12).map("".join))
@example("\ud83d\ude00\ude00\\\\ud83d")
def test_a_message_is_as_long_and_means_the_same_but_for_halves(text: str) -> None:
    written = json.dumps({"text": text}).encode()
    mended = readable(written)
    assert len(mended) == len(written)
    assert json.loads(mended) == {"text": whole(text)}
