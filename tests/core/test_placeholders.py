"""A comment in the place of code would delete the code."""

import pytest

from magent_lsp.core.placeholders import placeholder_in

PLACEHOLDERS = [
    "# ... rest of the code",
    "// ... existing code ...",
    "    // rest of the file remains unchanged",
    "/* ... existing styles ... */",
    "<!-- ... rest of the document ... -->",
    "{/* ... existing props ... */}",
    "-- ... rest of the script",
    "[... unchanged lines ...]",
    "# remaining methods...",
    "// (rest of the implementation)",
    "# … keep existing code here …",
    "; ... other definitions unchanged",
    "# Rest of the code stays the same",
]
TEXT = [
    "...",
    "def f(): ...",
    "    ...rest,",
    "const { a, ...rest } = props;",
    "# the rest of the world is fine",
    "raise NotImplementedError  # ...",
    "print('... rest of the code')",
    "Loading the rest of the file...",
    "# keep the existing code path for now",
    "x[..., None]",
    "// TODO: other functions",
    "# " + "a long remark on the rest of the code " * 5 + "...",
]


@pytest.mark.parametrize("line", PLACEHOLDERS)
def test_placeholders_are_found(line: str) -> None:
    assert placeholder_in(f"def f():\n{line}\n    return 1\n") == line.strip()


@pytest.mark.parametrize("line", TEXT)
def test_real_text_is_left_alone(line: str) -> None:
    assert placeholder_in(f"a\n{line}\nb\n") is None


def test_what_was_there_before_is_left_alone() -> None:
    assert placeholder_in("x\n  # ... rest of the code\n", "# ... rest of the code\n") is None


def test_a_long_line_takes_no_time() -> None:
    assert placeholder_in("# ... " + "rest " * 100_000) is None
