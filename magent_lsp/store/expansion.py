"""Command templates: arguments, shell output and files, put in in one pass and never twice."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

_ARGUMENT = r"\$ARGUMENTS\[(?P<{0}at>\d{{1,4}})\]|(?P<{0}all>\$ARGUMENTS)(?!\w)|\$(?P<{0}number>\d{{1,4}})"
_TOKEN = re.compile(
    r"(?<![\w`])!`(?P<command>[^`\n]+)`"
    r"|(?<![\w`@/.])@(?P<path>(?:~|\.{1,2})?/?[\w$][^\s`\"'()<>\[\]{},;:!?|*]*)"
    rf"|{_ARGUMENT.format('')}"
)
_IN_PART = re.compile(_ARGUMENT.format(""))


@dataclass(frozen=True)
class Text:
    """Text for the model, as it is."""

    text: str


@dataclass(frozen=True)
class Shell:
    """`` !`command` ``: to be judged by the rules for bash, run, and replaced by its output."""

    command: str


@dataclass(frozen=True)
class FileRef:
    """`@path`: to be judged by the rules for reading and replaced by the file; if there is none, `text`."""

    path: str
    text: str


Part = Text | Shell | FileRef


@dataclass(frozen=True, kw_only=True)
class Expansion:
    """A command with its arguments in place; what is left to do stands apart from plain text."""

    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """All of it as text, with commands and files as they were written."""
        return "".join(_written(part) for part in self.parts)


def _written(part: Part) -> str:
    return f"!`{part.command}`" if isinstance(part, Shell) else part.text


def expand_template(template: str, arguments: str, *, first: int = 1) -> Expansion:
    """Put the arguments into a template; `first` is the number of the first one, 0 in Claude's commands.

    Arguments that are not asked for are appended. What stands in an argument is never looked at again.
    """
    values = _Values(arguments, first)
    parts = list(_parts(template, values))
    if not values.used and arguments.strip():
        parts.append(Text(f"\n\n{arguments.strip()}"))
    return Expansion(parts=tuple(_joined(parts)))


def shell_lines(template: str) -> tuple[str, ...]:
    """The shell commands of a template as they are written, with the places for arguments in them."""
    return tuple(match["command"].strip() for match in _TOKEN.finditer(template) if match["command"])


def fill(template: str, arguments: str, *, first: int = 1) -> tuple[str, bool]:
    """Put only arguments into a text; whether there was a place for them."""
    values = _Values(arguments, first)
    return _IN_PART.sub(values.of, template), values.used


class _Values:
    """The arguments, whole and by number."""

    def __init__(self, arguments: str, first: int) -> None:
        self.whole = arguments.strip()
        self.first = first
        self.used = False
        try:
            self.words = shlex.split(arguments)
        except ValueError:  # a quote that is not closed is meant as text
            self.words = arguments.split()

    def of(self, match: re.Match[str]) -> str:
        """What a placeholder stands for; empty if there is no such argument."""
        self.used = True
        if match["all"]:
            return self.whole
        at = int(match["at"]) if match["at"] else int(match["number"]) - self.first
        return self.words[at] if 0 <= at < len(self.words) else ""


def _parts(template: str, values: _Values) -> Iterator[Part]:
    end = 0
    for match in _TOKEN.finditer(template):
        yield Text(template[end : match.start()])
        end = match.end()
        if match["command"]:
            yield Shell(_IN_PART.sub(values.of, match["command"]).strip())
        elif match["path"]:
            written = match["path"].rstrip(".")
            end -= len(match["path"]) - len(written)
            path, rest = _IN_PART.sub(values.of, written), ""
            if written.endswith("$ARGUMENTS"):  # of several words only the first stands behind the `@`
                path, _, rest = path.partition(" ")
            yield FileRef(path, f"@{path}") if path else Text("")
            yield Text(f" {rest}" if rest else "")
        else:
            yield Text(values.of(match))
    yield Text(template[end:])


def _joined(parts: list[Part]) -> Iterator[Part]:
    """Neighbouring texts as one, empty ones left out."""
    text = ""
    for part in parts:
        if isinstance(part, Text):
            text += part.text
            continue
        if text:
            yield Text(text)
        text = ""
        yield part
    if text:
        yield Text(text)
