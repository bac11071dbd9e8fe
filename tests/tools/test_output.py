"""If these fail, what a command or page said reaches the model garbled or without bounds."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magent_lsp.tools.output import MAX_COLUMNS, clean, cut_line, cut_lines, head_and_tail, wrap_lines


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b(Bx\x1b=y", "xy"),
        ("10%\r50%\r100%\n", "100%\n"),
        ("win\r\ndows\r\n", "win\ndows\n"),
        ("end\r", "end"),
        ("a\x00b\x07c\td\x0ce", "a\ufffdb\ufffdc\td\x0ce"),
        ("ünï 😀", "ünï 😀"),
    ],
)
def test_clean(raw: str, shown: str) -> None:
    assert clean(raw) == shown


def test_clean_takes_linear_time() -> None:
    start = time.process_time()
    for text in ("x" * 2_000_000 + "\r", "\x1b]" * 200_000, "\x1b[" + "1;" * 500_000, "\r" * 1_000_000):
        clean(text)
    assert time.process_time() - start < 3


def test_lines_are_cut_to_the_columns() -> None:
    assert cut_line("x" * MAX_COLUMNS) == "x" * MAX_COLUMNS
    cut = cut_line("é" * 5_000)
    assert len(cut) <= MAX_COLUMNS
    assert cut.endswith(f"[… {5_000 - MAX_COLUMNS + 40} more characters]")
    assert cut_lines("a\n" + "x" * 9_000 + "\nb").split("\n")[::2] == ["a", "b"]


@given(st.text("ab\n", max_size=400), st.integers(10, 300))
def test_head_and_tail_are_parts_of_the_text(text: str, limit: int) -> None:
    short = head_and_tail(text, limit)
    if len(text) <= limit:
        assert short == text
    else:
        head, _, tail = short.partition("\n[… ")
        assert text.startswith(head)
        assert text.endswith(tail.partition("…]\n")[2])
        assert len(short) <= limit + 60


def test_head_and_tail_with_a_hole_already_in_the_text() -> None:
    assert head_and_tail("headtail", 100, missing=50, at=4) == "head\n[… 50 characters left out …]\ntail"


@given(st.text("a \n", max_size=9_000))
def test_wrapping_changes_nothing_but_line_ends(text: str) -> None:
    assert wrap_lines(text).replace("\n", "") == text.replace("\n", "")
    assert all(len(line) <= MAX_COLUMNS for line in wrap_lines(text).split("\n"))
