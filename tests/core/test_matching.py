"""Edits land where the model means, change nothing else, or say why they cannot."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magent_lsp.core.edits import apply_replacements
from magent_lsp.core.errors import EditError
from magent_lsp.core.matching import Edit, place
from magent_lsp.core.splice import rewrite


def after(text: str, *edits: Edit) -> str:
    """The text after the edits, by their replacements as well."""
    placed = place(text, edits)
    assert apply_replacements(text, placed.replacements) == placed.after
    return placed.after


def refused(text: str, *edits: Edit) -> str:
    """Why the edits are refused."""
    with pytest.raises(EditError) as error:
        place(text, edits)
    return str(error.value)


def test_exact_text_is_replaced() -> None:
    assert after("a\nb\nc\n", Edit("b", "B")) == "a\nB\nc\n"


@pytest.mark.parametrize("text", ["x = $1\n", "re = r'\\1$&'\n"])
def test_new_text_is_plain_text(text: str) -> None:
    """`$&` and `\\1` mean nothing."""
    assert after(text, Edit(text.strip(), "a \\1 $& \\g<0>")) == "a \\1 $& \\g<0>\n"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("model", ["\n", "\r\n"])
def test_line_ends_compare_equal_and_new_lines_take_those_of_the_file(end: str, model: str) -> None:
    text = end.join(["one", "two", "three", ""])
    old, new = model.join(["two", "three"]), model.join(["two", "and a half", "THREE"])
    assert after(text, Edit(old, new)) == end.join(["one", "two", "and a half", "THREE", ""])


def test_mixed_line_ends_stay_where_lines_stay() -> None:
    text = "a\r\nb\nc\rd\n"
    assert after(text, Edit("a\nb\nc\nd", "a\nb\nX\nc\nd")) == "a\r\nb\nX\rc\rd\n"
    assert after(text, Edit("a\nb", "a\nnew\nb")) == "a\r\nnew\nb\nc\rd\n"


def test_form_feeds_and_separators_are_part_of_a_line() -> None:
    text = "a\x0cb\u2028c\x85d\x1ce\nnext\n"
    assert after(text, Edit("next", "NEXT")) == "a\x0cb\u2028c\x85d\x1ce\nNEXT\n"
    assert after(text, Edit("b\u2028c", "B\u2028C")) == "a\x0cB\u2028C\x85d\x1ce\nnext\n"


def test_trailing_blanks_are_ignored_and_kept() -> None:
    """A Markdown hard break is two blanks that models do not see."""
    text = "first line  \nsecond line\t\nthird\n"
    assert after(text, Edit("first line\nsecond line\n", "first line\nsecond row\n")) == (
        "first line  \nsecond row\t\nthird\n"
    )
    assert after(text, Edit("second line\nthird", "second line\nmore\nthird")) == (
        "first line  \nsecond line\t\nmore\nthird\n"
    )


def test_trailing_blanks_of_the_model_do_not_reach_into_a_line() -> None:
    assert "not in" in refused("foobar\nx\n", Edit("foo  \n", "y\n"))
    assert "not in" in refused("value1\n", Edit("value ", "y"))


def test_indentation_is_shifted_as_one() -> None:
    text = "class A:\n    def f(self):\n        if x:\n            return 1\n"
    edit = Edit(
        "def f(self):\n    if x:\n        return 1", "def f(self):\n    if y:\n        return 2\n    return 3"
    )
    assert after(text, edit) == (
        "class A:\n    def f(self):\n        if y:\n            return 2\n        return 3\n"
    )


def test_tabs_of_a_makefile_stay_tabs() -> None:
    text = "all:\n\tcc a.c\n\tcc b.c\n"
    edit = Edit("all:\n    cc a.c\n    cc b.c", "all:\n    cc a.c\n    cc c.c\n    cc b.c")
    assert after(text, edit) == "all:\n\tcc a.c\n\tcc c.c\n\tcc b.c\n"


def test_spaces_of_a_file_stay_spaces() -> None:
    text = "if a:\n  if b:\n    c()\n"
    assert after(text, Edit("if a:\n\tif b:\n\t\tc()", "if a:\n\tif b:\n\t\td()\n\t\te()")) == (
        "if a:\n  if b:\n    d()\n    e()\n"
    )


def test_indentation_that_differs_in_more_than_one_step_is_refused() -> None:
    text = "    a()\n      b()\n"
    assert "not in" in refused(text, Edit("a()\nb()\nc()", "x()"))
    assert "not in" in refused(text, Edit("  a()\n b()", "  a()\n c()"))


def test_new_lines_left_of_the_shift_are_refused() -> None:
    """Nothing can be taken away from a line that begins at the margin."""
    assert "not in" in refused("  a\n  b\n", Edit("    a\n    b", "    a\nc\n    b"))


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ('say("hi")\n', "say(“hi”)"),
        ("say(“hi”)\n", 'say("hi")'),
        ("it’s\n", "it's"),
        ("a\u00a0b\n", "a b"),
        ("a b\n", "a\u00a0b"),
        ("1–2\n", "1-2"),
    ],
)
def test_punctuation_is_folded_for_finding(text: str, old: str) -> None:
    assert after(f"“kept”\n{text}", Edit(old, "new")) == "“kept”\nnew\n"


def test_quotes_of_the_file_stay_where_the_model_changes_nothing() -> None:
    text = "log(\"a\", 'b')\n"
    assert after(text, Edit("log(“a”, ‘b’)", "log(“a”, ‘c’)")) == "log(\"a\", 'c')\n"


def test_punctuation_and_indentation_together() -> None:
    text = '    print("a")\n    print("b")\n'
    assert after(text, Edit("print(“a”)\nprint(“b”)", "print(“a”)\nprint(“c”)")) == (
        '    print("a")\n    print("c")\n'
    )


def test_braces_are_no_anchors() -> None:
    """A block with another middle is another block."""
    text = "f() {\n  one();\n  two();\n}\n"
    assert "Nearest" in refused(text, Edit("f() {\n  one();\n  three();\n}", "f() {}"))


def test_two_copies_are_refused_and_both_named() -> None:
    words = refused("a\nx = 1\nb\nx = 1\n", Edit("x = 1", "x = 2"))
    assert "lines 2, 4" in words
    assert "replace_all" in words


def test_two_near_copies_are_refused_and_both_named() -> None:
    words = refused("x = 1  \na\nx = 1\t\n", Edit("x = 1\n", "x = 2\n"))
    assert "lines 1, 3" in words


def test_overlapping_places_are_two() -> None:
    assert "2 places" in refused("aaa\n", Edit("aa", "b"))


def test_lines_added_around_a_kept_one_keep_their_order() -> None:
    assert after("aa'\naa\n", Edit("aa'\naa\n", "aa\naaa\n\na")) == "aa\naaa\n\na"


def test_line_ends_are_never_joined_by_accident() -> None:
    """Between a bare CR and a LF an emptied line must stay a line."""
    placed = place("\ra\n\nend", [Edit("a", "")])
    assert re.sub("\r\n?", "\n", placed.after) == "\n\n\nend"


def test_replace_all() -> None:
    assert after("a b a\na\n", Edit("a", "c", True)) == "c b c\nc\n"
    assert place("a b a", [Edit("a", "c", True)]).places == (2,)


def test_edits_of_one_call_are_placed_in_one_text() -> None:
    text = "one\ntwo\nthree\n"
    assert after(text, Edit("three", "3"), Edit("one", "1\n1")) == "1\n1\ntwo\n3\n"


def test_edits_may_share_context_but_not_change_the_same_line() -> None:
    text = "a\nb\nc\n"
    assert after(text, Edit("a\nb", "A\nb"), Edit("b\nc", "b\nC")) == "A\nb\nC\n"
    words = refused(text, Edit("a\nb", "a\nB"), Edit("b\nc", "X\nc"))
    assert "edits 1 and 2 both change line 2" in words


def test_one_bad_edit_stops_all_and_every_bad_one_is_named() -> None:
    words = refused("a\nb\n", Edit("a", "A"), Edit("nope", "x"), Edit("b", "b"))
    assert "edit 2 of 3" in words
    assert "edit 3 of 3" in words
    assert "Nothing was changed" in words


def test_an_edit_that_counts_on_an_earlier_one_is_told_so() -> None:
    assert "new_string of edit 1" in refused("a\n", Edit("a", "bcd"), Edit("bcd", "e"))


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ("value = 1\n", Edit("value = 1", "value = 2")),
        ("a\nb\n", Edit("a\n", "a\nnew line\n")),
        ("a\nb\n", Edit("b", "new line\nb")),
        ("    a()\n    b()\n", Edit("a()\nb()", "a()\nnew()\nb()")),
        ("  f()  \n", Edit("f()\n", "f()\ng()\n")),
    ],
)
def test_the_same_edit_twice_is_already_applied(text: str, edit: Edit) -> None:
    once = after(text, edit)
    assert "already applied" in refused(once, edit)


def test_an_unrelated_text_that_is_there_does_not_end_the_matter() -> None:
    """Else the model would take an edit for done that never was."""
    words = refused("def f():\n    return None\nlog(event)\n", Edit("log(events[0])", "return None"))
    assert "may be already applied" in words
    assert "Nearest line 3 is" in words


def test_identical_texts_are_refused() -> None:
    assert "identical" in refused("a\r\nb", Edit("a\nb", "a\r\nb"))


def test_a_missing_text_names_the_nearest_lines() -> None:
    text = "import os\n\ndef handler(event):\n    return event['id']\n"
    words = refused(text, Edit("def handler(event):\n    return event['key']\n", "x"))
    assert "3\tdef handler(event):" in words
    assert "Line 4 is" in words


def test_line_numbers_of_read_file_are_explained() -> None:
    assert "line numbers" in refused("foo()\nbar()\n", Edit("     1\tfoo()\n     2\tbar()", "x"))


def test_the_last_line_without_an_end_is_found_and_stays_without() -> None:
    assert after("a\nlast", Edit("last\n", "LAST\n")) == "a\nLAST"
    assert after("a\nlast", Edit("last\n", "last\nmore\n")) == "a\nlast\nmore"


def test_a_match_full_of_blanks_is_refused() -> None:
    assert "much larger" in refused("a" + " " * 5000 + "\nb\n", Edit("a\nb", "c"))


def test_long_lines_take_no_time() -> None:
    """A regular expression would look at each of these blanks again and again."""
    text = "a" + " " * 200_000 + "x\n" + "y" * 200_000 + "\n"
    assert "not in" in refused(text, Edit("a\nz z z", "c"))


def test_astral_characters_and_combining_ones_are_not_split() -> None:
    text = "x = '👩‍👩‍👧' # é שלום\ny = 1\n"
    assert after(text, Edit("y = 1", "y = '👍'")) == "x = '👩‍👩‍👧' # é שלום\ny = '👍'\n"


LINES = st.text(st.sampled_from("ab {}\t“\"'’\u00a0é😀\x0c\u2028"), max_size=12)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Short texts with every kind of line end and many equal lines."""
    lines = draw(st.lists(st.tuples(LINES, ENDS), max_size=8))
    return "".join(line + end for line, end in lines) + draw(LINES)


@given(texts(), st.data())
def test_an_exact_edit_changes_its_place_and_nothing_else(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    old, new = text[start:end], data.draw(texts())
    try:
        placed = place(text, [Edit(old, new)])
    except EditError:
        return
    flat = text.replace("\r\n", "\n").replace("\r", "\n")
    flat_old, flat_new = (part.replace("\r\n", "\n").replace("\r", "\n") for part in (old, new))
    if placed.strategies == ("exact",):
        assert flat.count(flat_old) == 1
        wanted = flat.replace(flat_old, flat_new)
        assert re.sub("\r\n?", "\n", placed.after) == wanted
    assert placed.after == apply_replacements(text, placed.replacements)


@given(texts(), texts(), texts())
def test_bytes_outside_of_the_match_are_untouched(head: str, old: str, tail: str) -> None:
    """Whatever strategy finds it, the text around the match is the same afterwards."""
    head, tail = f"{head}<head>\n", f"\n<tail>{tail}"
    text = head + old + tail
    try:
        placed = place(text, [Edit(old, "new text\nof two lines")])
    except EditError:
        return
    if "new text" in text:
        return
    for start, end, _ in placed.replacements:
        assert placed.strategies == ("exact",) or len(head) - 1 <= start <= end <= len(head + old) + 1
    first = min(r.start for r in placed.replacements)
    last = max(r.end for r in placed.replacements)
    assert placed.after.startswith(text[:first])
    assert placed.after.endswith(text[last:])


@given(texts(), st.text(st.sampled_from("xyz \t\n"), min_size=1, max_size=20), st.data())
def test_an_edit_and_its_reverse_give_the_text_again(text: str, new: str, data: st.DataObject) -> None:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    start = data.draw(st.integers(0, len(text)))
    old = text[start : data.draw(st.integers(start, len(text)))]
    try:
        there = place(text, [Edit(old, new)])
        back = place(there.after, [Edit(new, old)])
    except EditError:
        return
    if there.strategies == back.strategies == ("exact",):
        assert back.after == text


@given(texts(), texts())
def test_a_rewrite_gives_the_new_text_with_the_line_ends_of_the_old(before: str, wanted: str) -> None:
    text = apply_replacements(before, rewrite(before, wanted))
    assert re.sub("\r\n?", "\n", text) == re.sub("\r\n?", "\n", wanted)
    if "\r" not in before:
        assert text == re.sub("\r\n?", "\n", wanted)
    assert apply_replacements(before, rewrite(before, before)) == before
