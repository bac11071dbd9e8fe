"""No message has half of a character, and nothing else of it is another."""

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from magent_lsp.core.halves import whole
from magent_lsp.lsp.readable import Readable, readable

PIECES = st.sampled_from(["a", "\\", '"', "\ud800", "\udbff", "\udc00", "\U0001f600", "\\ud800", "ud83d"])


def capital(written: bytes) -> bytes:
    """The same JSON with the digits of its characters as some clients write them."""
    return re.sub(rb"\\\\|\\u[0-9a-f]{4}", lambda found: found[0][:2] + found[0][2:].upper(), written)


@given(st.lists(st.one_of(PIECES, st.text(max_size=3)), max_size=12).map("".join))
@example("\ud83d\ude00\ude00\\\\ud83d")
def test_a_message_is_as_long_and_means_the_same_but_for_halves(text: str) -> None:
    written = json.dumps({"text": text}).encode()
    mended = readable(written)
    assert len(mended) == len(written)
    assert json.loads(mended) == {"text": whole(text)}
    assert json.loads(capital(written)) == json.loads(written)
    assert json.loads(readable(capital(written))) == {"text": whole(text)}


class Written(list[bytes]):
    """What was written."""

    write = list.append


@pytest.mark.parametrize("half", [rb"\ud83d", rb"\uD83D", rb"\uDC00"])
def test_a_client_that_sends_halves_gets_them_back(half: bytes) -> None:
    """An edit of such a line must give what the client had, however it spells that."""
    written = Written()
    out = Readable(written)
    ours = rb'{"a": "\ud83d"}'
    out.heard(rb'{"a": "\ud83d\ude00 \uD83D\uDE00 \\ud83d"}')
    out.write(ours)
    out.heard(b'{"a": "' + half + b'"}')
    out.write(ours)
    assert written == [rb'{"a": "\ufffd"}', ours]
