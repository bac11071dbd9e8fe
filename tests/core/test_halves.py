"""Halves of characters become whole, or the sign for what is no character."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magent_lsp.core.halves import Joiner, whole

ANY = st.text(st.one_of(st.sampled_from("\ud83d\ude00\udc00a"), st.characters(codec=None)), max_size=20)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("\ud83d\ude00", "😀"),
        ("x\ud83d", "x\ufffd"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("ü😀", "ü😀"),
    ],
)
def test_halves(text: str, made: str) -> None:
    assert whole(text) == made


@given(ANY, st.lists(st.integers(0, 20)))
def test_pieces_make_what_the_whole_makes(text: str, cuts: list[int]) -> None:
    joiner, made, before = Joiner(), "", 0
    for cut in [*sorted(cuts), len(text)]:
        piece = joiner.feed(text[before:cut])
        piece.encode()
        made += piece
        before = max(before, cut)
    assert made + joiner.end() == whole(text)
