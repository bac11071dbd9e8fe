"""Pieces are found again whatever an editor did to blanks, and words elsewhere are not taken for them."""

from hypothesis import given
from hypothesis import strategies as st

from magent_lsp.lsp.chat.tidied import added, end_of

blanks = st.text(" \t\n", max_size=3)
words = st.lists(st.sampled_from(["a", "It", "ends.", "##", "🦁"]), min_size=1, max_size=5)


@given(words, blanks, blanks, st.text(max_size=5))
def test_a_piece_ends_where_its_words_end(words: list[str], one: str, other: str, behind: str) -> None:
    text = f"{other}{other.join(words)}"
    assert end_of(one.join(words), text + behind) == len(text)


def test_other_words_are_no_piece() -> None:
    assert end_of("It ends.", "I see: It ends.") is None
    assert end_of("It ends.", "It end") is None


@given(words, blanks, blanks)
def test_what_was_there_before_was_not_added(words: list[str], one: str, other: str) -> None:
    before = f"x {one.join(words)} y"
    assert added(other.join(words), before, before) is None
    assert added(other.join(words), before, f"{before} {one.join(words)}") is not None
    assert added("new piece", "a text", "a text\n\nnew\npiece\n") == 8
