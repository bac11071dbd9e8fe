"""One word of a shell command, decoded: quotes and escapes taken away, expansions noted."""

import re
from dataclasses import dataclass
from typing import Final

from magent_lsp.permissions.arithmetic import COUNT
from magent_lsp.permissions.paths import escape_name


@dataclass(frozen=True, kw_only=True)
class Word:
    """A word as the command would see it, as far as that can be known."""

    text: str
    """Decoded; expansions stand as they are written."""
    glob: str
    """The same as a pattern in which only unquoted wildcards are special."""
    exact: bool = True
    """False: holds an expansion, so that its value is not known."""
    wild: bool = False
    """Whether it holds an unquoted `*`, `?` or `[`."""
    loose_start: bool = False
    """Whether it begins with a wildcard, and so may become an option."""
    many: bool = False
    """Whether an unquoted expansion may make more than one word of it, or none."""
    odd: bool = False
    """Whether it holds what no single word can: the parser and the shell may disagree."""

    @property
    def literal(self) -> bool:
        """Whether it is exactly what is written."""
        return self.exact and not self.wild


MAX_PIECES: Final = 1_000
MAX_BRACES: Final = 20
"""Of one word; for each the word is read to its end once more."""

_PLAIN: Final = re.compile(r"[^\\'\"$`*?\[{}\s;&|<>()~]+")
_VARIABLE: Final = re.compile(r"\$(?:\w+|\{\w+\}|[@*#?$!-])")
_SINGLE: Final = re.compile(r"'([^']*)'")
_ANSI: Final = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_IN_DOUBLE: Final = re.compile(r"[^\\\"$`]+")
_BRACE: Final = re.compile(r"\{(?:[^{},.\s'\"\\$`]|\.(?!\.))*(?:,|\.\.)[^{}\s'\"\\$`]*\}")
_IN_BRACE: Final = re.compile(
    r"""\\. | '[^']*' | \$'(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*"
    | (?P<unknown>[$`]) | (?P<open>\{) | (?P<close>\}) | (?P<comma>(?:,|\.\.)+) | [^\\'"$`{},.]+ | .""",
    re.VERBOSE | re.DOTALL,
)
_SAFE: Final = re.compile(r"\$(?:[?#$!]|\{#\w*\})")
"""Expansions to a number, which is one word."""
_CLASS: Final = re.compile(r"\[[!^]?\]?[^\]\s'\"\\$`/]{0,64}\]")
_ESCAPE: Final = re.compile(
    r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|c.|.)", re.DOTALL
)
_UNSURE: Final = re.compile(r"\\(?:x\{|x[89a-fA-F][0-9a-fA-F]|[23][0-7]{2}|c)")
"""Signs in `$'…'` that shells read differently, and bytes that are no signs by themselves."""
_ANSI_SIGNS: Final = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    **dict(zip("\\'\"?", "\\'\"?", strict=True)),
}


def word(text: str) -> Word:
    """A word whose text is known, such as a piece of an inner command."""
    return Word(text=text, glob=escape_name(text))


def decode(source: str) -> Word:
    """Decode the source text of one word."""
    if _PLAIN.fullmatch(source):
        return Word(text=source, glob=escape_name(source))
    decoder = _Decoder(source)
    decoder.run()
    return decoder.word()


class _Decoder:
    """Reads the source of one word from left to right."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.text: list[str] = []
        self.glob: list[str] = []
        self.braces = 0
        """Unquoted braces that are open."""
        self.openings = 0
        """Unquoted braces that were opened so far."""
        self.exact = True
        self.wild = False
        self.loose_start = False
        self.many = False
        self.odd = False
        self.vague: int | None = None
        """Where a bracket began that may stand for more than we read in it."""

    def word(self) -> Word:
        """What was read."""
        text = "".join(self.text)
        glob = "".join(self.glob)
        if self.vague is not None:
            glob = "".join(self.glob[: self.vague]).rpartition("/")[0]
            glob = f"{glob}/**" if glob or text.startswith("/") else "**"
        return Word(
            text=text,
            glob=glob,
            exact=self.exact,
            wild=self.wild,
            loose_start=self.loose_start,
            many=self.many,
            odd=self.odd,
        )

    def put(self, text: str) -> None:
        """Add literal text; a word of thousands of pieces is not read to its end."""
        if len(self.text) > MAX_PIECES:
            self.odd, self.exact, self.at = True, False, len(self.source)
        self.text.append(text)
        self.glob.append(escape_name(text))

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Read what matches here."""
        match = pattern.match(self.source, self.at)
        if match:
            self.at = match.end()
        return match

    def run(self) -> None:
        """Read the whole word."""
        while self.at < len(self.source):
            if match := self.take(_PLAIN):
                self.put(match[0])
                continue
            sign = self.source[self.at]
            if sign == "\\":
                self.escaped()
            elif sign == "'":
                self.single()
            elif sign == '"':
                self.double()
            elif sign in "$`":
                self.expansion()
            elif sign in "*?[{":
                self.wildcard(sign)
            else:
                self.braces -= sign == "}"
                self.odd = self.odd or sign not in "}~" or self.braces < 0
                self.put(sign)
                self.at += 1

    def escaped(self) -> None:
        """A backslash outside quotes: the next sign is literal, a line end is nothing."""
        following = self.source[self.at + 1 : self.at + 2]
        self.at += 2
        if following != "\n":
            self.put(following or "\\")

    def single(self) -> None:
        """Text in single quotes."""
        if match := self.take(_SINGLE):
            self.put(match[1])
        else:
            self.give_up()

    def double(self) -> None:
        """Text in double quotes."""
        self.at += 1
        while self.at < len(self.source):
            if match := self.take(_IN_DOUBLE):
                self.put(match[0])
                continue
            sign = self.source[self.at]
            if sign == '"':
                self.at += 1
                return
            if sign == "\\":
                following = self.source[self.at + 1 : self.at + 2]
                self.at += 2
                self.put(
                    ""
                    if following == "\n"
                    else following
                    if following in tuple('$`"\\')
                    else sign + following
                )
            else:
                self.expansion(quoted=True)
        self.odd = True

    def expansion(self, quoted: bool = False) -> None:
        """What begins with `$` or a backtick."""
        if not quoted and (match := self.take(_ANSI)):
            if _UNSURE.search(match[1]):
                self.odd, self.exact = True, False
            self.put(ansi(match[1]))
        elif not quoted and self.source.startswith('$"', self.at):
            self.at += 1
        elif match := self.take(_VARIABLE):
            self.exact = False
            self.many = self.many or not (quoted or _SAFE.fullmatch(match[0])) or match[0] == "$@"
            self.put(match[0])
        elif self.source[self.at] == "$" and self.source[self.at + 1 : self.at + 2] in (
            "",
            '"',
            "/",
            " ",
            "%",
            ".",
        ):
            self.put("$")
            self.at += 1
        else:
            safe = quoted or _SAFE.match(self.source, self.at) or COUNT.fullmatch(self.source, self.at)
            self.many = self.many or not safe or self.source.startswith(("${@", "${!"), self.at)
            self.give_up()

    def give_up(self) -> None:
        """Take the rest as it is written: its value is not known."""
        self.exact = False
        self.put(self.source[self.at :].replace('"', "").replace("'", ""))
        self.at = len(self.source)

    def wildcard(self, sign: str) -> None:
        """An unquoted wildcard or brace."""
        if sign == "{":
            if match := self.take(_BRACE):
                self.exact, self.many = False, True
                self.text.append(match[0])
                self.glob.append("*")
                return
            self.openings += 1
            if self.openings > MAX_BRACES or self.spelled():
                self.exact, self.many, self.odd = False, True, True
                self.vague = len(self.glob) if self.vague is None else self.vague
            self.braces += 1
            self.put(sign)
        else:
            match = self.take(_CLASS) if sign == "[" else None
            if sign == "[" and (match is None or match[0].count("[") > 1) and self.vague is None:
                self.vague = len(self.glob)
            taken = match[0] if match else sign
            self.loose_start = self.loose_start or not self.text
            self.wild = True
            self.text.append(taken)
            self.glob.append(taken)
            if match:
                return
        self.at += 1

    def spelled(self) -> bool:
        """Whether a brace that is not simple begins what stands for several words: `{a,'b c'}`, `{a,{}}`."""
        commas = level = 0
        at, unknown = self.at + 1, False
        while match := _IN_BRACE.match(self.source, at):
            at = match.end()
            kind = match.lastgroup
            if kind == "close" and not level and commas:
                return True
            level += (kind == "open") - (kind == "close" and level > 0)
            commas += kind == "comma" and not level
            unknown = unknown or kind == "unknown"
        return unknown and commas > 0


def ansi(text: str) -> str:
    """The value of `$'…'`."""

    def sign(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] in "xuU" and len(code) > 1:
            number = int(code[1:], 16)
            return chr(number) if number <= 0x10FFFF else match[0]
        if code[0] in "01234567":
            return chr(int(code, 8) & 0xFF)
        if code[0] == "c" and len(code) == 2:
            return chr(ord(code[1].upper()) & 0x1F)
        return _ANSI_SIGNS.get(code, match[0])

    value = _ESCAPE.sub(sign, text)
    return value.partition("\0")[0]
