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
    flags: frozenset[str] = field(default_factory=frozenset)
    """Long options without a value that look like the beginning of one with."""
    numeric: frozenset[str] = field(default_factory=frozenset)
    """Those whose value is a number, if they take one at all: not every system's program does."""


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
            elif following is not None and _takes(table, name, following):
                options.append((name, following))
                at += 1
            else:
                options.append((name, None))
        elif text in table.words:
            options.append((text, following))
            at += 1
        elif text.startswith("-") and len(text) > 1:
            at += _cluster(now, following, table, options)
        else:
            operands.append(now)
    return Arguments(operands=tuple(operands), options=tuple(options))


def _takes(table: Options, name: str, following: Word) -> bool:
    """Whether a long option takes the next word."""
    if name in table.flags or not any(names_option(name, each) for each in table.long):
        return False
    return not any(names_option(name, each) for each in table.numeric) or _is_number(following)


def _is_number(each: Word) -> bool:
    return each.literal and each.text.lstrip("+-")[:1].isdigit()


def _cluster(
    now: Word, following: Word | None, table: Options, options: list[tuple[str, Word | None]]
) -> int:
    """Read `-abc`; returns 1 if the next word is the value of the last letter."""
    for index, letter in enumerate(now.text[1:], start=1):
        attached = now.text[index + 1 :]
        alone = f"-{letter}" in table.numeric and not attached
        if letter not in table.short or (alone and (following is None or not _is_number(following))):
            options.append((f"-{letter}", None))
            continue
        options.append((f"-{letter}", _part(now, attached) if attached else following))
        return 0 if attached else 1
    return 0


def _part(whole: Word, text: str) -> Word:
    """A part of a word, which is as sure as the whole."""
    if whole.literal:
        return word(text)
    start = whole.glob.find(text[:1]) if text else -1
    return Word(text=text, glob=whole.glob[start:] if start >= 0 else "", exact=whole.exact, wild=whole.wild)
