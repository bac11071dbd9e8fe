"""What a place in a text means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magent_lsp.core.document import Position, Span, line_starts, slice_span
from magent_lsp.lsp.focus import symbol_at, whole_lines

TEXT = "def grüße(name_1):\n    return name_1\n"


@pytest.mark.parametrize(
    ("line", "column", "symbol"),
    [
        (0, 0, "def"),
        (0, 3, "def"),
        (0, 6, "grüße"),
        (0, 9, "grüße"),
        (1, 16, "name_1"),
        (1, 1, ""),
        (9, 0, ""),
    ],
)
def test_symbol_at(line: int, column: int, symbol: str) -> None:
    assert symbol_at(TEXT, Position(line, column)) == symbol


@pytest.mark.parametrize(
    ("text", "span", "lines"),
    [
        ("a\nb\nc\n", ((0, 0), (0, 0)), "a\n"),
        ("a\nb\nc\n", ((0, 1), (1, 1)), "a\nb\n"),
        ("a\nb\nc\n", ((0, 0), (2, 0)), "a\nb\n"),
        ("a\nb\nc", ((2, 0), (2, 1)), "c"),
        ("a\r\nb\r\n", ((1, 0), (1, 1)), "b\r\n"),
        ("", ((0, 0), (0, 0)), ""),
    ],
)
def test_whole_lines(text: str, span: tuple[tuple[int, int], tuple[int, int]], lines: str) -> None:
    whole = whole_lines(text, Span(Position(*span[0]), Position(*span[1])))
    assert slice_span(text, whole) == lines


@given(st.text(alphabet="ab\n\r🦄"), st.integers(0, 9), st.integers(0, 9))
def test_whole_lines_hold_the_lines_they_began_with(text: str, first: int, count: int) -> None:
    starts = line_starts(text)
    line = min(first, len(starts) - 1)
    last = min(line + count, len(starts) - 1)
    whole = whole_lines(text, Span(Position(line, 0), Position(last, 0)))
    assert whole.start.column == 0
    assert whole.start <= whole.end
    assert whole.end.line <= len(starts)
