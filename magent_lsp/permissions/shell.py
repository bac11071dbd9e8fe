"""A command line as the shell would read it.

Parsed with tree-sitter-bash under a whitelist of node types. Whatever is not understood is a problem, which
the judge turns into a question; where the grammar fails, denies are still looked for word by word.
"""

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from magent_lsp.permissions.line import MAX_CHARS, Folders, Line
from magent_lsp.permissions.scan import scan
from magent_lsp.permissions.walk import Walk

if TYPE_CHECKING:
    import tree_sitter

MAX_SIGNS: Final = 1_000
"""Of one kind; the parser takes quadratic time on more."""
MAX_ENDS: Final = 200
"""Closing brackets without an opening one, as branches of `case` have; recovery is slow on more."""
MAX_READS: Final = 3_000
"""Of the text by the parser: more often than that it goes back only in texts made for it."""
MAX_HEREDOCS: Final = 20
"""More in one command are a mistake, and slow to parse."""

_STRANGE: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]|(?![ \t\n])\s")
"""Control characters and exotic blanks: the parser and the shell divide words at different ones."""
_FOREIGN: Final = re.compile(r"[^\x00-\x7f]")
_OPERATORS: Final = re.compile(r"[<>|&!(){}\[\]]{24}|<{5}|(?:[<>|&!(){}\[\]]\s*){60}")
"""Runs of operators on which error recovery takes quadratic time; no real command has them."""


def analyse(text: str, folders: Folders) -> Line:
    """Read a command line; never raises, and takes bounded time."""
    line = Line()
    if len(text) > MAX_CHARS:
        line.problem(f"The command is longer than {MAX_CHARS} characters.")
    elif strange := _STRANGE.search(text):
        line.problem(
            f"The command holds the character {strange[0]!r}, which shells and people read differently."
        )
    elif (
        _OPERATORS.search(text)
        or text.count("<<") > MAX_HEREDOCS
        or any(text.count(sign) > MAX_SIGNS for sign in "|[(<`{")
        or any(text.count(end) - text.count(begin) > MAX_ENDS for begin, end in ("()", "{}", "[]"))
    ):
        line.problem("The command holds more operators than a command can need.")
    else:
        if "<<" in text and _FOREIGN.search(text):
            # Masked, two delimiters may look alike, and a body could seem to end where it does not.
            line.problem("The command holds a here-document beside characters that are not ASCII.")
        _parse(text, folders, line)
        if "\\\n" in text:
            _parse(text.replace("\\\n", ""), folders, line)
    if line.names.unknown:
        line.problem("Arithmetic may run or set what a value holds.")
    if line.problems:
        line.suspects = scan(text)
    return line


def _parse(text: str, folders: Folders, line: Line) -> None:
    import tree_sitter  # heavy, and of no use until the first command

    source = text.encode("utf-8", "surrogatepass")
    # The grammar's scanner hands any character to C's `isalnum`, which leaves its table and ends the
    # process, as in `{\U000d40e2`. To the shell they are letters of a word; names are read from the source.
    masked = _FOREIGN.sub(_letters, text).encode()
    parser = tree_sitter.Parser(_language())
    reads = 0

    def read(offset: int, point: object) -> bytes:
        nonlocal reads
        reads += 1
        return masked[offset : offset + 4_096]

    try:
        tree = parser.parse(read, progress_callback=lambda offset, failed: failed or reads > MAX_READS)
    except ValueError:  # stopped by the callback: error recovery on long texts takes quadratic time
        line.problem("The command is not valid shell.")
        return
    if tree.root_node.has_error:
        line.problem("The command is not valid shell.")
    Walk(source, folders, line).run(tree.root_node)


@lru_cache(maxsize=1)
def _language() -> "tree_sitter.Language":
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Language(tree_sitter_bash.language())


def _letters(match: re.Match[str]) -> str:
    """As many letters as the character has bytes, so that every place in the source stays what it is."""
    return "x" * len(match[0].encode("utf-8", "surrogatepass"))
