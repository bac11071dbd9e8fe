"""Halves of characters become whole, or the sign for what is no character."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magent_lsp.core.halves import Joiner, spelt, whole

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


@given(st.binary(max_size=8))
def test_a_name_has_one_spelling(name: bytes) -> None:
    odd = name.decode("ascii", "surrogateescape")
    assert os.fsencode(spelt(odd)) == name
    assert spelt(odd) == os.fsdecode(name), "what the system takes for one name is one for our rules"


def test_halves_that_are_no_bytes_stay() -> None:
    assert spelt("\ud83d\ude00 \ud800") == "\U0001f600 \ud800"
