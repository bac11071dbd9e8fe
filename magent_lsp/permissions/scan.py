"""Word lists that may be commands, found without a grammar: for lines the parser cannot or must not read.

It knows quotes, comments, substitutions and separators, and no more. It may see a command where there is
none, never the reverse for ordinary text; so only a deny may be drawn from what it finds.
"""

import re
from typing import Final

from magent_lsp.permissions.tables import set_of
from magent_lsp.permissions.words import decode

MAX_SCANNED: Final = 65_536
"""Far more than is ever parsed; what is behind it is asked all the same."""
MAX_TOKENS: Final = 16_000
MAX_FOUND: Final = 4_000
MAX_WORDS: Final = 40

_TOKEN: Final = re.compile(
    r"""\\\n | \\. | '[^']*' | \$'(?:[^'\\]|\\.)*'
    | (?P<double>") | (?P<open>\$\(|`|[<>]\(|\() | (?P<close>\))
    | (?P<heredoc><<-?[ \t]*(?:\\?[\w.-]+|'[^'\n]*'|"[^"\n]*"))
    | (?P<comment>(?:(?<=\s)|(?<=^)|(?<=;))\#[^\n]*) | (?P<end>\n)
    | (?P<separator>[;&|]) | (?P<redirect>[<>]+) | (?P<blank>[ \t\r]+)
    | [^\s;&|()<>"'\\`$]+ | .""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_DOUBLE: Final = re.compile(r'(?P<double>")|(?P<open>\$\(|`)|\\.|[^"$`\\]+|.', re.DOTALL)
_KEYWORDS: Final = set_of("""
    if then elif else do while until ! { } coproc fi done esac in
""")
_CLOSED: Final = "$_"
"""Stands for a substitution, or for what was in brackets that may have closed a branch of `case`."""
_SKIPPED: Final = _KEYWORDS | {_CLOSED}
_ASSIGNMENT: Final = re.compile(r"\w+(\[[^\]]*\])?\+?=")


def scan(text: str) -> list[tuple[str, ...]]:
    """The word lists found in a text, each once, in order."""
    scanner = _Scanner(text[:MAX_SCANNED])
    scanner.run()
    return list(scanner.found)


class _Scanner:
    """Reads a text once from left to right."""

    def __init__(self, text: str) -> None:
        self.source = text
        self.at = 0
        self.found: dict[tuple[str, ...], None] = {}
        self.piece: list[str] = []
        self.words: list[str] = []
        self.skip_word = False
        self.stack: list[tuple[str, list[str], list[str], int]] = []
        """What was open: `"`, `(` or a backtick, with the words and the open `case`s before it."""
        self.cases = 0
        """Open `case`s: in them a bracket closes a branch, not a substitution."""
        self.heredocs: list[tuple[str, bool]] = []

    def run(self) -> None:
        """Read everything, or as much as the limits allow."""
        for _ in range(MAX_TOKENS):
            if self.at >= len(self.source) or len(self.found) >= MAX_FOUND:
                break
            quoted = bool(self.stack) and self.stack[-1][0] == '"'
            match = (_DOUBLE if quoted else _TOKEN).match(self.source, self.at)
            if match is None:
                break
            self.at = match.end()
            kind = match.lastgroup
            if kind == "double":
                self.quote()
            elif kind == "open":
                self.open(match[0])
            elif quoted:
                self.piece.append(match[0])
            else:
                self.plain(kind, match[0])
        while self.stack:
            self.close()
        self.command()

    def plain(self, kind: str | None, text: str) -> None:
        """A token outside double quotes."""
        if kind == "close":
            self.command()
            if self.stack and self.stack[-1][0] != "`" and not self.cases:
                self.close()
        elif kind == "heredoc":
            delimiter = text.lstrip("<").removeprefix("-").strip()
            self.heredocs.append((delimiter.strip("'\"").removeprefix("\\"), delimiter[:1] in tuple("'\"\\")))
        elif kind == "end":
            self.command()
            self.bodies()
        elif kind == "separator":
            self.command()
        elif kind == "blank":
            self.word()
        elif kind == "redirect":
            if not "".join(self.piece).isdigit():
                self.word()
            self.piece = []
            self.skip_word = True
        elif kind != "comment" and text != "\\\n":
            self.piece.append(text)

    def quote(self) -> None:
        """A double quote opens or closes."""
        if self.stack and self.stack[-1][0] == '"':
            _, piece, words, self.cases = self.stack.pop()
            piece += ['"', *self.piece, '"']  # in place: a copy for each quote takes quadratic time
            self.piece, self.words = piece, words
        else:
            self.stack.append(('"', self.piece, self.words, self.cases))
            self.piece, self.words, self.cases = [], [], 0

    def open(self, sign: str) -> None:
        """A substitution or a subshell opens; a second backtick closes."""
        if sign == "`" and self.stack and self.stack[-1][0] == "`":
            self.command()
            self.close()
            return
        self.stack.append(("`" if sign == "`" else "(", self.piece, self.words, self.cases))
        self.piece, self.words, self.cases = [], [], 0

    def close(self) -> None:
        """Go back to what was open around; the substitution stands for an unknown text."""
        self.command()
        _, piece, words, self.cases = self.stack.pop()
        piece.append(_CLOSED)
        self.piece, self.words = piece, words

    def word(self) -> None:
        """A word ends."""
        if not self.piece:
            return
        if self.skip_word:
            self.skip_word = False
        elif (piece := "".join(self.piece)) in ("{", "}"):
            self.piece = []
            self.command()
        elif len(self.words) < MAX_WORDS:
            self.words.append(piece)
        self.piece = []

    def command(self) -> None:
        """A command ends."""
        self.word()
        self.skip_word = False
        words = self.words
        self.words = []
        if "esac" in words:
            self.cases = max(0, self.cases - 1)
        start = 0
        while start < len(words) and (words[start] in _SKIPPED or _ASSIGNMENT.match(words[start])):
            start += 1
        if words[start : start + 1] == ["case"] and "esac" not in words:
            self.cases += 1
        if start < len(words):
            self.found[tuple(decode(each).text for each in words[start:])] = None

    def bodies(self) -> None:
        """Step over the bodies of here documents; unquoted ones may hold substitutions."""
        for delimiter, quoted in self.heredocs:
            end = re.compile(rf"^\t*{re.escape(delimiter)}$", re.MULTILINE).search(self.source, self.at)
            if end is None:
                continue
            if not quoted and re.search(r"\$\(|`", self.source[self.at : end.start()]):
                continue
            self.at = end.end()
        self.heredocs = []
