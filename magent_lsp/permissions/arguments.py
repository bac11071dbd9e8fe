"""Options and operands of a command, told apart by a table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from magent_lsp.permissions.words import Word, word


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """The arguments of one command."""

    operands: tuple[Word, ...] = ()
    options: tuple[tuple[str, Word | None], ...] = ()
    """Each option by its name (`-f`, `--file`), with its value if it takes one."""

    def has(self, *names: str) -> bool:
        """Whether one of the options is given; long ones may be shortened."""
        return any(names_option(given, name) for given, _ in self.options for name in names)

    def values(self, *names: str) -> Iterator[Word]:
        """The values of the options."""
        for given, value in self.options:
            if value is not None and any(names_option(given, name) for name in names):
                yield value


def names_option(given: str, name: str) -> bool:
    """Whether an option as given means `name`; GNU takes any beginning of a long one."""
    return given == name or (len(given) > 2 and given.startswith("--") and name.startswith(given))


@dataclass(frozen=True, kw_only=True)
class Options:
    """Which options of a command take a value."""

    short: str = ""
    long: frozenset[str] = field(default_factory=frozenset)
    words: frozenset[str] = field(default_factory=frozenset)
    """Options with one dash and a long name, as of `find`."""


def parse_arguments(words: Sequence[Word], table: Options) -> Arguments:
    """Read the words behind a program's name."""
    operands: list[Word] = []
    options: list[tuple[str, Word | None]] = []
    rest = list(words)
    at = 0
    while at < len(rest):
        now = rest[at]
        text = now.text
        at += 1
        following = rest[at] if at < len(rest) else None
        if text == "--":
            operands += rest[at:]
            break
        if text.startswith("--"):
            name, equals, value = text.partition("=")
            if equals:
                options.append((name, _part(now, value)))
            elif following is not None and any(names_option(name, each) for each in table.long):
                options.append((name, following))
                at += 1
            else:
                options.append((name, None))
        elif text in table.words:
            options.append((text, following))
            at += 1
        elif text.startswith("-") and len(text) > 1:
            at += _cluster(now, following, table.short, options)
        else:
            operands.append(now)
    return Arguments(operands=tuple(operands), options=tuple(options))


def _cluster(now: Word, following: Word | None, valued: str, options: list[tuple[str, Word | None]]) -> int:
    """Read `-abc`; returns 1 if the next word is the value of the last letter."""
    for index, letter in enumerate(now.text[1:], start=1):
        if letter not in valued:
            options.append((f"-{letter}", None))
            continue
        attached = now.text[index + 1 :]
        options.append((f"-{letter}", _part(now, attached) if attached else following))
        return 0 if attached else 1
    return 0


def _part(whole: Word, text: str) -> Word:
    """A part of a word, which is as sure as the whole."""
    if whole.literal:
        return word(text)
    start = whole.glob.find(text[:1]) if text else -1
    return Word(text=text, glob=whole.glob[start:] if start >= 0 else "", exact=whole.exact, wild=whole.wild)
