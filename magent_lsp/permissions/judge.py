"""The entry: what a call may do, and why."""

from collections.abc import Sequence
from dataclasses import replace

from magent_lsp.core.tool import Subject
from magent_lsp.permissions.case import Case, Seen, say
from magent_lsp.permissions.commands import command_atoms
from magent_lsp.permissions.decision import Atom, Decision, worst
from magent_lsp.permissions.globs import universal
from magent_lsp.permissions.grants import name_grant, url_grant
from magent_lsp.permissions.groups import entries
from magent_lsp.permissions.layers import TextItem, covers, in_order, narrower_tool
from magent_lsp.permissions.place import Place
from magent_lsp.permissions.rules import Layer, Policy, Rule, stricter
from magent_lsp.permissions.urls import judge_url

MAX_SHOWN = 4_000
"""A longer subject cannot be shown whole, so nothing lasting is offered for it."""


def judge(subjects: Sequence[Subject], policy: Policy, place: Place) -> Decision:
    """The verdict on a call that touches these things; the worst of them decides. Never raises."""
    case = Case(policy, Seen(place))
    decision = _judge(subjects, case)
    grants = tuple(dict.fromkeys(rule for atom in decision.atoms for rule in atom.grants))
    if decision.verdict != "ask" or any(atom.protected and not atom.grants for atom in decision.atoms):
        return decision
    if not grants:
        return decision
    if any(len(subject.value) > MAX_SHOWN for subject in subjects):
        return decision
    granted = case.renewed(with_grants(policy, grants), {rule.tool for rule in grants})
    if _judge(subjects, granted).verdict != "allow":
        return decision
    return replace(decision, grants=grants, always=True)


def _judge(subjects: Sequence[Subject], case: Case) -> Decision:
    atoms = tuple(atom for subject in subjects for atom in _atoms(case, subject))
    if not atoms:
        return Decision(verdict="allow", reason="The call touches nothing.", rule=None, atoms=())
    first = worst(atoms)
    return Decision(
        verdict=first.verdict,
        reason=first.reason,
        rule=first.rule,
        atoms=atoms,
        protected=any(atom.protected for atom in atoms),
    )


def _atoms(case: Case, subject: Subject) -> list[Atom]:
    if subject.kind == "command":
        if not offered(subject.tool, case.policy):
            return [_closed(subject)]
        return command_atoms(case, subject.value) or [
            Atom(
                subject=subject,
                verdict="allow",
                reason=f"`{subject.value[:200]}` does nothing that a rule speaks of.",
            )
        ]
    if subject.kind == "path":
        return [case.file(subject.tool, subject.value)]
    return [_url(case, subject) if subject.kind == "url" else _named(case, subject)]


def _closed(subject: Subject) -> Atom:
    return Atom(subject=subject, verdict="deny", reason=f"`{subject.tool}` is denied whatever the input.")


def _url(case: Case, subject: Subject) -> Atom:
    address = judge_url(subject.value)
    ruling = case.ruling(subject.tool, TextItem(text=address.text, url=True))
    least = "allow" if address.least == "ask" and ruling.absolute else address.least
    verdict = stricter(ruling.verdict, least)
    reason = (
        f"`{subject.value[:200]}`: {address.reason}." if verdict != ruling.verdict else say(subject, ruling)
    )
    return Atom(
        subject=subject,
        verdict=verdict,
        reason=reason,
        rule=ruling.rule,
        protected=verdict == "ask" and least == "ask",
        grants=url_grant(address.text) if verdict == "ask" else (),
    )


def _named(case: Case, subject: Subject) -> Atom:
    item = TextItem(text=subject.value)
    ruling = case.ruling(subject.tool, item)
    atom = Atom(subject=subject, verdict=ruling.verdict, reason=say(subject, ruling), rule=ruling.rule)
    if subject.tool == "editor_eval" and atom.verdict != "deny":
        if case.policy.confined:
            reason = "A run that was started on a part of the project may not run code in the editor."
            return replace(atom, verdict="deny", reason=reason)
        if not case.opened(subject.tool, item):
            return replace(atom, verdict="ask", reason="Code in the editor is always asked.", protected=True)
    if subject.kind == "definition":
        return _defined(case, atom)
    if atom.verdict == "ask":
        atom = replace(atom, grants=name_grant(subject.tool, subject.value))
    return atom


def _defined(case: Case, atom: Atom) -> Atom:
    """A tool that somebody else defines; `atom` says what the rules say of it."""
    subject = atom.subject
    if case.policy.confined and atom.verdict != "deny":
        reason = f"`{subject.tool}` is always asked in a run that was started on a part of the project."
        return replace(atom, verdict="ask", reason=reason)
    if atom.verdict != "ask":
        return atom
    earlier = [
        rule
        for layer in case.policy.layers
        if layer.name == "grant"
        for rule in layer.rules
        if rule.tool == subject.tool and rule.verdict == "allow"
    ]
    if earlier:
        reason = f"`{subject.tool}` was allowed, but its definition has changed since: look at it again."
        atom = replace(atom, reason=reason)
    return replace(atom, grants=name_grant(subject.tool, subject.value))


def with_grants(policy: Policy, rules: Sequence[Rule]) -> Policy:
    """The policy with further grants, for it and its parents."""
    layer = Layer(name="grant", rules=tuple(rules))
    chain = [replace(each, layers=(*each.layers, layer)) for each in policy.chain()]
    result = chain[-1]
    for each in reversed(chain[:-1]):
        result = replace(each, parent=result)
    return result


def offered(tool: str, policy: Policy) -> bool:
    """Whether a tool is shown to the model: False if it is denied for every input."""
    return all(_open(tool, each) for each in policy.chain())


def _open(tool: str, policy: Policy) -> bool:
    layers = in_order(policy.layers)
    if any(_closes(layer, tool) for layer in layers):
        return False
    groups = (group for layer in layers for group in entries(layer, tool))
    return any(rule.verdict != "deny" for group in groups for rule in group.rules)


def _closes(layer: Layer, tool: str) -> bool:
    """Whether a layer denies every input: something denies all, and no other verdict survives beside it."""
    for group in entries(layer, tool):
        denies = [rule for rule in group.rules if rule.verdict == "deny"]
        if any(rule.verdict != "deny" and not _shut(rule, denies) for rule in group.rules):
            return False
        if any(universal(rule.pattern) for rule in denies):
            return layer.name != "default"
    return False


def _shut(rule: Rule, denies: Sequence[Rule]) -> bool:
    """Whether a deny says the same thing as an opening rule, under a tool name that is no broader."""
    return any(
        covers(deny, rule) and covers(rule, deny) and not narrower_tool(rule.tool, deny.tool)
        for deny in denies
    )
