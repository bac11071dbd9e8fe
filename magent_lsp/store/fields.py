"""Takes the values of one file's front matter one by one, and collects what is wrong with them."""

from collections.abc import Iterable, Mapping
from typing import Any

from magent_lsp.store.frontmatter import Front
from magent_lsp.store.problems import Problem


def canonical(key: str, spellings: Mapping[str, str]) -> str:
    """One spelling for `topP`, `top_p` and `top-p`, and for other programs' words."""
    name = key.replace("-", "").replace("_", "").lower()
    return spellings.get(name, name)


class Fields:
    """The values by canonical key; unknown keys are reported once."""

    def __init__(
        self, front: Front, known: Iterable[str], spellings: Mapping[str, str] | None = None
    ) -> None:
        self.front = front
        self.problems: list[Problem] = list(front.problems)
        self.keys: dict[str, str] = {}
        unknown: list[str] = []
        for key in front.values:
            name = canonical(key, spellings or {})
            if name not in known:
                unknown.append(key)
            elif name in self.keys:
                self.report(f"{key!r} says the same as {self.keys[name]!r}; the first one counts", key)
            else:
                self.keys[name] = key
        if unknown:
            self.report(f"unknown: {', '.join(map(repr, unknown))}; ignored", unknown[0])

    def report(self, message: str, *keys: str | int, error: bool = False) -> None:
        """A problem at a key as it is written in the file."""
        self.problems.append(self.front.problem(message, *keys, error=error))

    def key(self, name: str) -> str:
        """How the file spells a key."""
        return self.keys.get(name, name)

    def line(self, name: str) -> int | None:
        """Where a key stands."""
        return self.front.data.line(self.key(name))

    def get(self, name: str) -> Any:
        """The value as it is; None if it is not given."""
        return self.front.values.get(self.keys.get(name, ""))

    def bad(self, name: str, what: str) -> None:
        """Report a value that is not what it must be."""
        self.report(
            f"{self.key(name)!r} must be {what}, not {self.get(name)!r}; it is ignored", self.key(name)
        )

    def text(self, name: str) -> str:
        """A text, with blanks around it removed; empty if it is not given."""
        value = self.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        if value is not None and not isinstance(value, str):
            self.bad(name, "text")
        return value.strip() if isinstance(value, str) else ""

    def flag(self, name: str) -> bool:
        """True only if the file says so."""
        value = self.get(name)
        if value is not None and not isinstance(value, bool):
            self.bad(name, "true or false")
        return value is True

    def number(self, name: str, most: float) -> float | None:
        """A number from 0."""
        value = self.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
            self.bad(name, f"a number from 0 to {most:g}")
            return None
        return float(value)

    def count(self, name: str) -> int | None:
        """A whole number from 1."""
        value = self.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            self.bad(name, "a whole number from 1")
            return None
        return value

    def mapping(self, name: str) -> Mapping[str, Any]:
        """A mapping; empty if it is not given."""
        value = self.get(name)
        if value is not None and not isinstance(value, dict):
            self.bad(name, "a mapping")
        return value if isinstance(value, dict) else {}
