"""Whether a text that an editor tells of has surely none of an edit in it."""

from hypothesis import given
from hypothesis import strategies as st

from magent_lsp.lsp.verify import lacks

BEFORE = "import os\n\n\ndef a():\n    return 1\n\n\ndef b():\n    return 2\n"
EXPECTED = BEFORE.replace("    return 1\n", "    return 1\n\n\ndef c():\n    return 3\n")


def test_an_edit_that_is_there_is_not_said_to_be_missing_though_lines_repeat() -> None:
    """A merge of such texts may put the new function in twice."""
    for typed in (("import os", "import os, sys"), ("return 2", "return 22"), ("def b", "def bb")):
        assert not lacks(EXPECTED.replace(*typed), BEFORE, EXPECTED)
    for typed in (("import os", "import os, sys"), ("return 2", "return 22")):
        assert lacks(BEFORE.replace(*typed), BEFORE, EXPECTED)


WORDS = st.lists(st.integers(0, 99).map(lambda n: f"line {n}\n"), min_size=2, max_size=12, unique=True)


@given(WORDS, st.data())
def test_what_landed_beside_what_was_typed_is_never_said_to_be_missing(
    lines: list[str], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(lines)))
    gone = data.draw(st.integers(0, min(2, len(lines) - at)))
    new = data.draw(st.lists(st.sampled_from(["new\n", "\n", "}\n"]), min_size=0 if gone else 1, max_size=3))
    expected = [*lines[:at], *new, *lines[at + gone :]]
    typed = data.draw(st.integers(0, at))
    now = [*expected[:typed], "typed\n", *expected[typed:]]
    assert not lacks("".join(now), "".join(lines), "".join(expected))
    never = [*lines[:typed], "typed\n", *lines[typed:]]
    assert lacks("".join(never), "".join(lines), "".join(expected)) or typed == at
