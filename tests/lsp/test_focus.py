"""What a place in a text means."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magent_lsp.core.document import Position, Span, line_starts, slice_span
from magent_lsp.lsp.commands.arguments import Stretch
from magent_lsp.lsp.focus import see, symbol_at, whole_lines

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


def test_a_thousand_diagnostics_in_a_long_file_cost_no_more_than_finding_its_lines_once() -> None:
    text = "x = 1\n" * 50_000
    place = {"start": {"line": 40_000, "character": 0}, "end": {"line": 40_000, "character": 1}}
    many = [{"message": f"m{number}", "range": place} for number in range(1000)]
    begun = time.thread_time()
    focus, scope = see(Path("/ws/a.py"), text, "python", Stretch.model_validate(place), "line", many)
    assert time.thread_time() - begun < 1  # it was 20 s when each of them looked for the lines
    assert len(focus.diagnostics) == 1000
    assert focus.diagnostics[0].span.start.line == 40_000
    assert focus.selection == focus.symbol == "x"
    assert scope is not None
    assert scope.span is not None
    assert scope.span.start.line == 40_000
