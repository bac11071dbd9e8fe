"""What one judgement works on: the rules, the place, and the atoms of files."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Final

from magent_lsp.core.tool import Subject, Verdict
from magent_lsp.permissions.decision import Atom
from magent_lsp.permissions.globs import broad
from magent_lsp.permissions.groups import closing, entries, tool_matches
from magent_lsp.permissions.layers import (
    Item,
    PathItem,
    Ruling,
    covers,
    rule_matches,
    rule_on_all,
)
from magent_lsp.permissions.line import Folders, Line
from magent_lsp.permissions.paths import (
    Segment,
    compile_pattern,
    compile_segment,
    escape_name,
    segments_meet,
)
from magent_lsp.permissions.place import Form, Located, Map, Place
from magent_lsp.permissions.protected import protected_reason
from magent_lsp.permissions.rules import STRICTNESS, USER_LEVEL, Policy, Rule, Source
from magent_lsp.permissions.scope import WRITERS, within_scope
from magent_lsp.permissions.shell import analyse

GRANT: Final = Source(name="grant")
MAX_GLOB: Final = 400
"""A longer wildcard is not looked into: it counts as one that covers everything."""
READERS: Final = frozenset({"grep", "glob", "list_dir", "diagnostics"})
"""Tools that look at files, whom a deny of `read_file` binds too."""


class Seen:
    """What does not depend on the rules: where paths lead and what command lines hold, found out once."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.map = Map(place)
        self._lines: dict[tuple[str, Folders], Line] = {}

    def line(self, text: str, folders: Folders) -> Line:
        """A command line, taken apart."""
        key = (text, folders)
        if key not in self._lines:
            self._lines[key] = analyse(text, folders)
        return self._lines[key]


class Case:
    """One judgement."""

    def __init__(self, policy: Policy, seen: Seen) -> None:
        self.policy = policy
        self.seen = seen
        self.place = seen.place
        self.map = seen.map
        self.line = seen.line
        self._narrow: dict[str, list[Rule]] = {}
        self._rulings: dict[tuple[str, Item], Ruling] = {}

    def renewed(self, policy: Policy, tools: Collection[str]) -> "Case":
        """The same under a policy that says something else of these tools only."""
        case = Case(policy, self.seen)
        case._narrow = {tool: rules for tool, rules in self._narrow.items() if tool not in tools}
        case._rulings = {key: ruling for key, ruling in self._rulings.items() if key[0] not in tools}
        return case

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
        """The verdict of a tool's rules on a file; of a command, that runs in a folder, or of the tool."""
        subject = Subject(tool=tool, kind="path", value=text)
        located = self.map.locate(text, folder, tool=folder is None)
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
            where = "" if form.path == subject.value else f" ({form.path})"
            text = f"`{subject.value}` {how} outside the workspace folders{where}."
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

    def may_deny(self, tool: str, item: PathItem) -> bool:
        """Whether a deny of particular files speaks of this one; thousands are looked at in no time."""
        return any(
            rule.verdict == "deny" and rule_matches(rule, item)
            for policy in self.policy.chain()
            for layer in policy.layers
            for rule in closing(layer, tool).near(item.names)
        )

    def _find_narrow(self, tool: str) -> Iterator[Rule]:
        for policy in self.policy.chain():
            if not any(closing(layer, tool).rules for layer in policy.layers):
                continue
            named = [
                rule
                for layer in policy.layers
                if layer.name in USER_LEVEL
                for group in entries(layer, tool)
                for rule in group.rules
                if rule.verdict == "allow" and not broad(rule.pattern)
            ]
            for layer in policy.layers:
                rules = closing(layer, tool).rules
                if layer.name != "default" or not named:
                    yield from rules
                else:
                    yield from (rule for rule in rules if not any(covers(own, rule) for own in named))


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
    what = f"`{named}`" if named and subject.kind != "definition" else f"`{subject.tool}`"
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
