"""Markdown files that begin with YAML between two lines of dashes."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from magent_lsp.core.errors import ConfigError
from magent_lsp.store.data import Data, parse_yaml
from magent_lsp.store.files import NO_TEXTS, Texts, read_text
from magent_lsp.store.problems import Problem

_LINE_END = re.compile(r"\r\n|\n|\r")
MAX_HEAD = 100_000
"""Characters; a longer one is no front matter that a person wrote."""
_MOST_LINES = 500
"""Of front matter in which values are looked for that cannot be YAML."""
_PLAIN = re.compile(r"^([A-Za-z][\w-]*):[ \t]+([^\s\"'|>{&*!].*?)[ \t]*$")
"""A key with a value on its line that may be meant as plain text."""


@dataclass(frozen=True, kw_only=True)
class Front:
    """A file in two halves."""

    path: Path
    data: Data
    head: str
    """The text between the dashes, lines ended by `\\n`."""
    body: str
    """What follows, lines ended by `\\n`, blank lines around it removed."""
    problems: tuple[Problem, ...] = ()

    @property
    def values(self) -> Mapping[str, Any]:
        """The keys of the front matter; empty if there is none."""
        return self.data.value or {}

    def problem(self, message: str, *keys: str | int, error: bool = False) -> Problem:
        """A problem that points at a key of this file."""
        severity: Any = "error" if error else "warning"
        return Problem(message=message, path=self.path, line=self.data.line(*keys), severity=severity)

    def raw(self, key: str) -> str:
        """What stands behind a top-level key on its line, as written: `[a] [b]` is no list there."""
        match = re.search(rf"^{re.escape(key)}:[ \t]*(.*?)[ \t]*$", self.head, re.MULTILINE)
        return match[1] if match else ""


def read_front(path: Path, *, within: Path | None = None, texts: Texts = NO_TEXTS) -> Front:
    """Read and split a file; ConfigError with path and line if it cannot be."""
    return parse_front(read_text(path, within=within, texts=texts), path)


def parse_front(text: str, path: Path) -> Front:
    """Split a text; one without dashes is all body."""
    lines = _LINE_END.split(text.removeprefix("\ufeff"))
    start = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if lines[start].rstrip() != "---":
        return Front(path=path, data=Data(), head="", body="\n".join(lines).strip("\n"))
    ends = (n for n in range(start + 1, len(lines)) if lines[n].rstrip() in ("---", "..."))
    end = next(ends, None)
    if end is None:
        reason = "the front matter is not closed; end it with a line of three dashes"
        raise ConfigError(reason, path=path, line=start + 1)
    head = "\n".join(lines[start + 1 : end])
    if len(head) > MAX_HEAD:
        raise ConfigError(
            f"the front matter is longer than {MAX_HEAD:,} characters", path=path, line=start + 1
        )
    try:
        data, problems = _parse_head(head, path, start + 2)
    except ConfigError as error:
        raise ConfigError(error.reason, path=path, line=error.line) from None
    if not isinstance(data.value, dict | None):
        raise ConfigError("the front matter must be `key: value` lines", path=path, line=start + 2)
    problems += [
        Problem(
            message=f"{keys[-1]!r} is given twice; the first one counts",
            path=path,
            line=data.line(*keys[:-1], f"{keys[-1]} (again)"),
        )
        for keys, _ in data.duplicates
    ]
    body = "\n".join(lines[end + 1 :]).strip("\n")
    return Front(path=path, data=data, head=head, body=body, problems=tuple(problems))


def _parse_head(head: str, path: Path, first_line: int) -> tuple[Data, list[Problem]]:
    """Parse strictly, else once more with those values quoted that cannot be YAML.

    Many agents and commands in the wild say `description: Use this when: …` or
    `argument-hint: [a] [b]`, which other programs take as plain text.
    """
    try:
        return parse_yaml(head, first_line=first_line), []
    except ConfigError as error:
        lines = head.split("\n")
        if len(lines) > _MOST_LINES:
            raise
        before = list(lines)
        changed: list[Problem] = []
        for number, line in enumerate(lines):
            match = _PLAIN.match(line)
            is_list = match and match[2].startswith("[") and match[1] != "argument-hint"
            if match and not is_list and not _is_yaml(line):
                lines[number] = f"{match[1]}: {json.dumps(match[2], ensure_ascii=False)}"
                if match[1] == "argument-hint":
                    continue  # everybody writes `[a] [b]` there
                message = f"the value of {match[1]!r} is taken as plain text; put it in quotes"
                changed.append(Problem(message=message, path=path, line=first_line + number))
        if lines == before:
            raise
        try:
            return parse_yaml("\n".join(lines), first_line=first_line), changed
        except ConfigError:
            raise error from None


def _is_yaml(line: str) -> bool:
    try:
        parse_yaml(line)
    except ConfigError:
        return False
    return True
