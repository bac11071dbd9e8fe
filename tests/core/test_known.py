"""What a model knows of a file decides whether it may replace all of it."""

from hypothesis import given
from hypothesis import strategies as st

from magent_lsp.core.known import Known, more, read_known, shown

PAGES = st.lists(st.sets(st.integers(1, 12)), max_size=6)


def test_a_text_is_known_once_every_line_was_shown() -> None:
    known = shown("d", range(1, 4), 6)
    assert known == "d:1-3"
    assert not read_known(known).covers(6)
    known = more(known, shown("d", range(4, 7), 6))
    assert read_known(known).covers(6)


def test_pages_of_another_text_do_not_add_up() -> None:
    assert more("old:1-3", "new:4-6") == "new:4-6"
    assert more("old", "new:4-6") == "new:4-6"


def test_a_text_known_as_a_whole_stays_so() -> None:
    assert more("d", "d:1-1") == "d"
    assert more("d:", "d") == "d"
    assert shown("d", [], 0) == "d"
    assert shown("d", [], 3) == "d:"


@given(PAGES)
def test_any_pages_in_any_order_cover_exactly_their_lines(pages: list[set[int]]) -> None:
    known: str | None = None
    for page in pages:
        known = more(known, shown("d", sorted(page), 12))
    seen = set().union(*pages)
    value = read_known(known or "d:")
    assert value.covers(12) == (seen == set(range(1, 13)))
    if value.lines is not None:
        assert {line for first, last in value.lines for line in range(first, last + 1)} == seen
        assert read_known(str(value)) == value


def test_a_damaged_value_knows_less_not_more() -> None:
    assert read_known("d:x-y,3,,-4,1-2") == Known("d", ((1, 2),))
    assert not read_known("d:x").covers(1)
