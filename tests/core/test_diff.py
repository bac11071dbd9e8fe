"""People decide by diffs: these are whole or say that they are not, and hide nothing."""

import difflib

from hypothesis import given
from hypothesis import strategies as st

from magent_lsp.core.diff import line_hunks, unified_diff
from magent_lsp.core.document import split_lines


def test_a_diff_looks_as_everywhere() -> None:
    before = "".join(f"line {n}\n" for n in range(20))
    after = before.replace("line 5\n", "LINE 5\nnew\n").replace("line 17\n", "")
    ours = unified_diff(before, after, "f", context=3)
    theirs = difflib.unified_diff(before.splitlines(), after.splitlines(), "f", "f", lineterm="")
    assert ours.text.split("\n") == list(theirs)
    assert (ours.added, ours.removed, ours.whole) == (2, 2, True)


def test_white_space_is_visible_where_it_is_all_that_changes() -> None:
    assert "-→x␊\n+····x␊" in unified_diff("\tx\n", "    x\n", "f").text
    assert "-a␍␊\n+a␊" in unified_diff("a\r\n", "a\n", "f").text
    assert "-a\n+b" in unified_diff("a\r\n", "b\r\n", "f").text


def test_a_missing_final_line_end_is_said() -> None:
    text = unified_diff("a\n", "b", "f").text
    assert text.endswith("-a\n+b\n\\ No newline at end of file")


def test_hidden_characters_are_written_out_on_request() -> None:
    text = unified_diff("", "if admin\u202e {\u2066\u200b\ufeff\x1b[31m\n", "f", escape=True).text
    assert "⟨U+202E⟩ {⟨U+2066⟩⟨U+200B⟩⟨U+FEFF⟩⟨U+001B⟩[31m" in text


def test_lines_are_those_of_the_editor() -> None:
    assert line_hunks(split_lines("a\x0cb\u2028c\nd\n"), split_lines("a\x0cb\u2028c\nD\n")) == [(1, 2, 1, 2)]


def test_a_diff_that_was_cut_says_so() -> None:
    diff = unified_diff("", "x\n" * 1000, "f", max_lines=10)
    assert not diff.whole
    assert diff.text.endswith("… 993 more lines, not shown")
    long = unified_diff("", "y" * 50_000 + "\n", "f", max_chars=1000)
    assert not long.whole
    assert len(long.text) < 1100


def test_huge_differences_are_one_hunk_at_once() -> None:
    old, new = [f"a{n}\n" for n in range(20_000)], [f"b{n}\n" for n in range(20_000)]
    assert line_hunks(old, new) == [(0, 20_000, 0, 20_000)]


LINES = st.lists(st.sampled_from(["a\n", "b\n", "\n", "c\r\n", "  a\n"]), max_size=12)


@given(LINES, LINES)
def test_hunks_turn_one_text_into_the_other(old: list[str], new: list[str]) -> None:
    result, at = [], 0
    for hunk in line_hunks(old, new):
        assert hunk.start > at or hunk.start == at == 0 or hunk.start == 0
        result += old[at : hunk.start] + new[hunk.new_start : hunk.new_end]
        at = hunk.end
    assert result + old[at:] == new
