"""The outcome of a judgement, as a value that people can read."""

from collections.abc import Iterable
from dataclasses import dataclass

from magent_lsp.core.tool import Subject, Verdict
from magent_lsp.permissions.rules import STRICTNESS, Rule


@dataclass(frozen=True, kw_only=True)
class Atom:
    """One thing that a call does, with its own verdict."""

    subject: Subject
    verdict: Verdict
    reason: str
    """A sentence."""
    rule: Rule | None = None
    protected: bool = False
    """Always asked, whatever the rules say."""
    grants: tuple[Rule, ...] = ()
    """What would open it if the person allows it for longer; empty: nothing can."""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The verdict on one call."""

    verdict: Verdict
    reason: str
    """A sentence that names the rule and where it is written."""
    rule: Rule | None
    atoms: tuple[Atom, ...]
    protected: bool = False
    """Holds a change that is always asked: `--yes` does not answer it."""
    grants: tuple[Rule, ...] = ()
    """What `allow for this session` would store; empty: not offered."""
    always: bool = False
    """Whether `always allow` may be offered."""

    def explain(self) -> str:
        """All atoms with their verdicts, one a line."""
        lines = [f"{self.verdict}: {self.reason}"]
        lines += [
            f"  {atom.verdict}: {atom.subject.tool} {atom.subject.value}: {atom.reason}"
            for atom in self.atoms
        ]
        return "\n".join(lines)


def worst(atoms: Iterable[Atom]) -> Atom:
    """The strictest atom; of equals a protected one, else the first."""
    return max(atoms, key=lambda atom: (STRICTNESS[atom.verdict], atom.protected))
