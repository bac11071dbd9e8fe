"""What a person allowed for good: `grants.yaml` beside their config."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import yaml

from magent_lsp.core.errors import ConfigError, UnknownId
from magent_lsp.permissions.rules import Layer, Rule, Source
from magent_lsp.store.data import Data, parse_yaml
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.files import locked, read_text, write_atomic
from magent_lsp.store.permission import parse
from magent_lsp.store.problems import Problem, from_error

_HEADER = "# What you allowed for good. Written by magent-lsp; take an entry out to be asked again.\n"


@dataclass(frozen=True, kw_only=True)
class Grant:
    """One answer "always"."""

    id: str
    when: str
    """ISO 8601, UTC."""
    reason: str
    """What it was given for."""
    rules: tuple[Rule, ...]


class GrantStore:
    """The grants on disk; read anew each time, since several servers may share them."""

    def __init__(self, dirs: Dirs) -> None:
        self.path = dirs.user / "grants.yaml"

    def load(self) -> Layer:
        """The permission layer of all grants; empty if the file is missing or cannot be read."""
        return Layer(name="grant", rules=tuple(rule for grant in self.list() for rule in grant.rules))

    def list(self) -> tuple[Grant, ...]:
        """All grants, the oldest first."""
        return self.read()[0]

    def read(self) -> tuple[tuple[Grant, ...], tuple[Problem, ...]]:
        """The grants and what is wrong with the file; a file that cannot be read grants nothing."""
        try:
            return self._parse()
        except ConfigError as error:
            return (), (from_error(error, self.path),)

    def add(self, rules: Sequence[Rule], reason: str) -> Grant:
        """Store what was allowed; ConfigError if the existing file cannot be read, which is left alone."""
        with locked(self.path):
            grants, _ = self._parse()
            number = max((int(grant.id) for grant in grants if grant.id.isdigit()), default=0) + 1
            when = datetime.now(UTC).isoformat(timespec="seconds")
            source = Source(name=f"grant {number}")
            kept = tuple(
                Rule(tool=rule.tool, pattern=rule.pattern, verdict="allow", source=source)
                for rule in rules
                if rule.verdict == "allow"
            )
            grant = Grant(id=str(number), when=when, reason=reason, rules=kept)
            self._write([*grants, grant])
        return grant

    def revoke(self, grant_id: str) -> Grant:
        """Take one grant back; UnknownId if there is none."""
        with locked(self.path):
            grants, _ = self._parse()
            gone = next((grant for grant in grants if grant.id == str(grant_id)), None)
            if gone is None:
                known = ", ".join(grant.id for grant in grants) or "none"
                raise UnknownId(f"there is no grant {grant_id!r}; the grants are: {known}")
            self._write([grant for grant in grants if grant is not gone])
        return gone

    def _parse(self) -> tuple[tuple[Grant, ...], tuple[Problem, ...]]:
        try:
            data = parse_yaml(read_text(self.path))
        except FileNotFoundError:
            return (), ()
        except ConfigError as error:
            reason = f"{error.reason}; no grant counts until this is mended"
            raise ConfigError(reason, path=self.path, line=error.line) from None
        if not isinstance(data.value, list | None):
            raise ConfigError(
                "must be a list of grants; none counts until this is mended", path=self.path, line=1
            )
        grants: list[Grant] = []
        problems: list[Problem] = []
        for index, item in enumerate(data.value or []):
            grant, more = self._grant(item, data, index)
            problems += more
            if grant is not None:
                grants.append(grant)
        return tuple(grants), tuple(problems)

    def _grant(self, item: Any, data: Data, index: int) -> tuple[Grant | None, Sequence[Problem]]:
        """One entry; a bad one grants nothing."""
        line = data.line(index)
        rules: list[Rule] = []
        problems: list[Problem] = []
        entries = item.get("rules") if isinstance(item, dict) else None
        if not isinstance(entries, list) or "id" not in item:
            return None, [
                Problem(message="a grant needs an `id` and `rules`; it is skipped", path=self.path, line=line)
            ]
        for number, entry in enumerate(entries):
            where = data.line(index, "rules", number)
            if not isinstance(entry, dict) or not isinstance(entry.get("tool"), str):
                problems.append(
                    Problem(message="a rule needs a `tool`; it is skipped", path=self.path, line=where)
                )
                continue
            value = {entry["tool"]: {entry.get("pattern", "*"): entry.get("verdict", "allow")}}
            found, more = parse(value, f"grant {item['id']}", where, self.path)
            rules += found
            problems += more
        grant = Grant(
            id=str(item["id"]),
            when=str(item.get("when", "")),
            reason=str(item.get("for", "")),
            rules=tuple(rules),
        )
        return grant, problems

    def _write(self, grants: Sequence[Grant]) -> None:
        entries = [
            {
                "id": int(grant.id) if grant.id.isdigit() else grant.id,
                "when": grant.when,
                "for": grant.reason,
                "rules": [_entry(rule) for rule in grant.rules],
            }
            for grant in grants
        ]
        text = (
            yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=10_000) if entries else "[]\n"
        )
        write_atomic(self.path, _HEADER + text, mode=0o600)


def _entry(rule: Rule) -> dict[str, str]:
    entry = {"tool": rule.tool, "pattern": rule.pattern}
    return entry if rule.verdict == "allow" else {**entry, "verdict": rule.verdict}
