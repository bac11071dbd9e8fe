"""`[ … ]` and `[[ … ]]`: their words, as the shell would divide them, and what it evaluates in them."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from magent_lsp.permissions.arithmetic import Names
from magent_lsp.permissions.tables import set_of
from magent_lsp.permissions.words import Word, decode

if TYPE_CHECKING:
    from tree_sitter import Node

FILE_TESTS: Final = set_of("""
    -a -b -c -d -e -f -g -h -k -p -r -s -u -w -x -G -L -N -O -S -nt -ot -ef
""")
_NUMBERS: Final = set_of("-eq -ne -lt -le -gt -ge")
_VARIABLES: Final = set_of("-v -R")
"""Tests of a variable, whose subscript is evaluated."""

_PARTS: Final = set_of("test_command binary_expression unary_expression parenthesized_expression")
_WORDS: Final = set_of("""
    word string raw_string ansi_c_string translated_string concatenation number simple_expansion expansion
    command_substitution arithmetic_expansion regex extglob_pattern test_operator brace_expression subscript
    variable_name process_substitution
""")
_SIGNS: Final = {"[": set_of("[ ] = == != ! =~"), "[[": set_of("[[ ]] = == != ! =~ < > && || ( )")}
_APART: Final = set_of("[ ] [[ ]] < > && || ( )")
"""Signs that end the word before them."""
_BETWEEN: Final = re.compile(r"(?:[ \t\n]|\\\n)*")
_NAMED: Final = re.compile(r"\$\{?(\w+)\}?")
_SURE: Final = re.compile(r"^[\w./]|\.\w+$")
"""In a wildcard: what no operator begins or ends with."""
_WHOLE: Final = re.compile(r'"([^"\\`]*)"')


def condition(node: "Node", text: Callable[[int, int], str]) -> list[str] | None:
    """The sources of the words of a test, brackets and all; None: the parser and the shell may disagree.

    To `[` a `<` is a redirect and `&&` ends the command; the parser takes them for operators.
    """
    spans: list[tuple[int, int]] = []
    signs = _SIGNS.get(node.children[0].type if node.children else "", frozenset())
    todo = [node]
    while todo:
        each = todo.pop()
        if each.type in _PARTS and each.is_named:
            todo.extend(reversed(each.children))
            continue
        if each.type not in (_WORDS if each.is_named else signs) or each.is_missing:
            return None
        start = each.start_byte
        if spans and spans[-1][1] != start and not _BETWEEN.fullmatch(text(spans[-1][1], start)):
            return None
        if each.type == "]" and text(start - 1, start) not in (" ", "\t", "\n"):
            return None
        apart = each.type in _APART or (spans and text(*spans[-1]) in _APART)
        if spans and spans[-1][1] == start and not apart:
            spans[-1] = (spans[-1][0], each.end_byte)
        else:
            spans.append((start, each.end_byte))
    return [text(*span) for span in spans]


def files(words: Sequence[Word]) -> Iterator[Word]:
    """The files that a test looks at."""
    for index, each in enumerate(words):
        if each.text not in FILE_TESTS:
            continue
        if index + 1 < len(words):
            yield words[index + 1]
        if each.text in ("-nt", "-ot", "-ef") and index > 1:
            yield words[index - 1]


def test_evaluates(words: Sequence[Word], numbers: Collection[str]) -> bool:
    """Whether `test` may evaluate a subscript: of `-v`, or of a word that may turn out to be `-v`.

    `numbers`: the names of variables that hold one.
    """
    for index, each in enumerate(words):
        variable = _NAMED.fullmatch(each.text)
        if variable is not None and variable[1] in numbers:
            continue
        if each.many or (each.wild and not _SURE.search(each.text)):
            return True
        following = words[index + 1] if index + 1 < len(words) else None
        if (not each.exact or each.text in _VARIABLES) and following is not None and not _plain(following):
            return True
    return False


def compares(sources: Sequence[str], names: Names) -> bool:
    """Whether `[[ … ]]` may evaluate more than numbers and the names of counters."""
    words = list(map(decode, sources))
    for index, each in enumerate(words[:-1]):
        if each.text in _VARIABLES and not _plain(words[index + 1]):
            return True
        if each.text in _NUMBERS:
            for operand in (sources[index - 1], sources[index + 1]):
                whole = _WHOLE.fullmatch(operand)
                if not names.add(whole[1] if whole else operand):
                    return True
    return False


def _plain(word: Word) -> bool:
    return word.literal and "[" not in word.text
