"""What is code in a text: as a reader would say it, and in no more time than reading takes."""

from hypothesis import given
from hypothesis import strategies as st

from magent_lsp.lsp.chat.fences import closes, code_lines, left_open, opens

lines = st.lists(
    st.sampled_from(
        ["```", "````", "~~~", "~~~~~", "```py", "   ```", "    ```", "~~~ x", "```x```", "", "text"]
    ),
    max_size=14,
)


def as_a_reader(lines: list[str]) -> list[bool]:
    """Line by line: whoever meets a fence looks for its end."""
    code = [False] * len(lines)
    for at, line in enumerate(lines):
        fence = "" if code[at] else opens(line)
        end = next((n for n in range(at + 1, len(lines)) if fence and closes(lines[n], fence)), at)
        code[at : end + 1] = [code[at] or end > at] * (end + 1 - at)
    return code


@given(lines)
def test_code_ends_where_its_fence_is_closed(lines: list[str]) -> None:
    assert code_lines(lines) == as_a_reader(lines)


@given(lines)
def test_a_fence_left_open_is_what_ends_a_text(lines: list[str]) -> None:
    text = "\n".join(lines)
    fence = left_open(text)
    assert left_open(f"{text}\n{fence}" if fence else text) == ""


def test_other_line_ends_than_markdowns_end_no_line() -> None:
    assert left_open("a\x0b```\x0cb\u2028```") == ""


def test_fences_that_nothing_closes_hide_nothing() -> None:
    shorter = ["`" * length + "x" for length in range(1500, 2, -1)]
    assert not any(code_lines([*shorter, *["text"] * 20_000]))
