"""What one judgement works on: the rules, the place, and the atoms of files."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from magent_lsp.core.tool import Subject, Verdict
from magent_lsp.permissions.decision import Atom
from magent_lsp.permissions.globs import broad, universal
from magent_lsp.permissions.layers import (
    Item,
    PathItem,
    Ruling,
    covers,
    rule_matches,
    rule_on_all,
    tool_matches,
)
from magent_lsp.permissions.paths import (
    Segment,
    compile_pattern,
    compile_segment,
    escape_name,
    fold_name,
    segments_meet,
)
from magent_lsp.permissions.place import Form, Located, Map, Place
from magent_lsp.permissions.protected import protected_reason
from magent_lsp.permissions.rules import STRICTNESS, USER_LEVEL, Policy, Rule, Source
from magent_lsp.permissions.scope import WRITERS, within_scope

GRANT: Final = Source(name="grant")
MAX_GLOB: Final = 400
"""A longer wildcard is not looked into: it counts as one that covers everything."""
READERS: Final = frozenset({"grep", "glob", "list_dir", "diagnostics"})
"""Tools that look at files, whom a deny of `read_file` binds too."""


class Case:
    """One judgement."""

    def __init__(self, policy: Policy, place: Place) -> None:
        self.policy = policy
        self.place = place
        self.map = Map(place)
        self._narrow: dict[str, list[Rule]] = {}
        self._names: dict[str, DeniedNames] = {}
        self._rulings: dict[tuple[str, Item], Ruling] = {}

    def ruling(self, tool: str, item: Item) -> Ruling:
        """What the rules say, of this policy and its parents."""
        key = (tool, item)
        if key not in self._rulings:
            self._rulings[key] = rule_on_all(self.policy, tool, item)
        return self._rulings[key]

    def opened(self, tool: str, item: Item) -> bool:
        """Whether `--allow` names what is otherwise always asked."""
        return any(
            rule.verdict == "allow" and tool_matches(rule.tool, tool) and rule_matches(rule, item)
            for rule in self.policy.headless_allow
        )

    def file(self, tool: str, text: str, folder: str | None = None) -> Atom:
        """The verdict of a tool's rules on a file."""
        subject = Subject(tool=tool, kind="path", value=text)
        located = self.map.locate(text, folder)
        if located.impossible:
            return Atom(subject=subject, verdict="deny", reason=located.problem)
        atoms = [self._form(subject, form) for form in located.forms]
        atoms += [self._scope(subject, located)] if tool in WRITERS else []
        if located.problem:
            atoms.append(Atom(subject=subject, verdict="ask", reason=located.problem))
        worst = max(atoms, key=lambda atom: (STRICTNESS[atom.verdict], atom.protected))
        return replace(worst, grants=self._file_grants(tool, located, worst))

    def _form(self, subject: Subject, form: Form) -> Atom:
        """The verdict on one reading of a path."""
        tool = subject.tool
        ruling = self.ruling(tool, form.item)
        verdict, reason, rule = ruling.verdict, say(subject, ruling, form), ruling.rule
        if tool in READERS and verdict != "deny":
            reading = self.ruling("read_file", form.item)
            if reading.verdict == "deny" and reading.rule is not None:
                return Atom(
                    subject=subject, verdict="deny", reason=say(subject, reading, form), rule=reading.rule
                )
        if verdict == "deny":
            return Atom(subject=subject, verdict="deny", reason=reason, rule=rule)
        why = protected_reason(form, self.map) if tool in WRITERS else None
        if why and not self.opened(tool, form.item):
            text = f"A change of `{subject.value}` is always asked: {why}."
            return Atom(subject=subject, verdict="ask", reason=text, protected=True)
        if form.outside and verdict == "allow" and not ruling.absolute:
            how = "leads" if form.real else "is"
            text = f"`{subject.value}` {how} outside the workspace folders ({form.path})."
            return Atom(subject=subject, verdict="ask", reason=text, rule=rule)
        return Atom(subject=subject, verdict=verdict, reason=reason, rule=rule)

    def _scope(self, subject: Subject, located: Located) -> Atom:
        """A scoped run is denied outside its scope before anything is asked."""
        for policy in self.policy.chain():
            scope = policy.scope
            if scope is not None and not all(
                within_scope(scope, form.path, self.map) for form in located.forms
            ):
                text = f"`{subject.value}` is outside the {scope.kind} this run was started on."
                return Atom(subject=subject, verdict="deny", reason=text)
        return Atom(subject=subject, verdict="allow", reason="")

    def _file_grants(self, tool: str, located: Located, atom: Atom) -> tuple[Rule, ...]:
        """The file itself, by its whole path: never wider than what was shown."""
        if atom.verdict != "ask" or atom.protected or located.problem:
            return ()
        paths = dict.fromkeys(form.path for form in located.forms)
        return tuple(
            Rule(tool=tool, pattern=escape_name(path), verdict="allow", source=GRANT) for path in paths
        )

    # Files that a wildcard or a whole folder may cover.

    def covered(self, tool: str, glob: str, folder: str, *, deep: bool, dots: bool) -> Rule | None:
        """A rule on particular files that a shell glob, or a folder read as a whole, may reach."""
        rules = self.narrow(tool)
        if not rules:
            return None
        if len(glob) > MAX_GLOB:
            return rules[0]
        located = self.map.locate(glob, folder)
        for form in located.forms[:2]:
            for rule in rules:
                if _meets(rule, form, deep=deep, dots=dots):
                    return rule
        return None

    def narrow(self, tool: str) -> list[Rule]:
        """The rules of a tool that ask for or deny particular files."""
        if tool not in self._narrow:
            self._narrow[tool] = list(self._find_narrow(tool))
        return self._narrow[tool]

    def names(self, tool: str) -> "DeniedNames":
        """The denies of a tool, made ready for many quick looks."""
        if tool not in self._names:
            self._names[tool] = DeniedNames([rule for rule in self.narrow(tool) if rule.verdict == "deny"])
        return self._names[tool]

    def _find_narrow(self, tool: str) -> Iterator[Rule]:
        for policy in self.policy.chain():
            named = [
                rule
                for layer in policy.layers
                if layer.name in USER_LEVEL
                for rule in layer.rules
                if rule.verdict == "allow" and not broad(rule.pattern) and tool_matches(rule.tool, tool)
            ]
            for layer in policy.layers:
                for rule in layer.rules:
                    if (
                        rule.verdict == "allow"
                        or universal(rule.pattern)
                        or not tool_matches(rule.tool, tool)
                    ):
                        continue
                    if layer.name != "default" or not any(covers(own, rule) for own in named):
                        yield rule


class DeniedNames:
    """Denied file names as sets, so that thousands of words of a command are compared in no time."""

    def __init__(self, rules: list[Rule]) -> None:
        self._names: set[str] = set()
        suffixes: list[str] = []
        self._rest: list[Rule] = []
        for rule in rules:
            text = fold_name(rule.pattern)
            if not _SPECIAL.search(text):
                self._names.add(text)
            elif text.startswith("*") and not _SPECIAL.search(text[1:]):
                suffixes.append(text[1:])
            else:
                self._rest.append(rule)
        self._suffixes = tuple(suffixes)

    def may_match(self, item: PathItem) -> bool:
        """Whether one of the denies matches."""
        for names in item.relative or item.absolute:
            for name in map(fold_name, names):
                if name in self._names or name.endswith(self._suffixes):
                    return True
        return any(rule_matches(rule, item) for rule in self._rest)


_SPECIAL: Final = re.compile(r"[*?\[\]\\/~]")


def _meets(rule: Rule, form: Form, *, deep: bool, dots: bool) -> bool:
    pattern = compile_pattern(rule.pattern, form.item.fold or rule.verdict == "deny")
    item = form.item
    spellings = item.absolute if pattern.anchor in ("absolute", "home") else item.relative
    if pattern.anchor == "any" and not spellings:
        spellings = item.absolute
    own = (*item.home, *pattern.segments) if pattern.anchor == "home" else pattern.segments
    for names in spellings:
        glob: list[Segment | None] = [None if name == "**" else compile_segment(name) for name in names]
        if segments_meet(own, [*glob, None] if deep else glob, dots=dots):
            return True
    return False


def say(subject: Subject, ruling: Ruling, form: Form | None = None) -> str:
    """A sentence that names the rule and where it is written."""
    named = subject.value if len(subject.value) <= 200 else f"{subject.value[:200]}…"
    what = f"`{named}`" if named else f"`{subject.tool}`"
    if form is not None and form.real:
        what += f" (it leads to {form.path})"
    done: dict[Verdict, str] = {
        "allow": "is allowed by",
        "ask": "needs a yes because of",
        "deny": "is denied by",
    }
    if ruling.rule is None:
        return f"{what} is denied because no rule speaks of it."
    return f"{what} {done[ruling.verdict]} {ruling.rule}."
