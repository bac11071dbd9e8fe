"""Which rule decides: within a layer the most specific, between layers the last, and a deny for good."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from magent_lsp.core.tool import Verdict
from magent_lsp.permissions.globs import broad, text_matches, universal
from magent_lsp.permissions.groups import entries, names_in
from magent_lsp.permissions.paths import compile_pattern, fold_name, segments_match
from magent_lsp.permissions.rules import LAYERS, STRICTNESS, USER_LEVEL, Layer, Policy, Rule
from magent_lsp.permissions.tools import READ_ONLY, TEXT_TOOLS
from magent_lsp.permissions.urls import host_fits, names_host


@dataclass(frozen=True, kw_only=True)
class TextItem:
    """A command, URL or name, as patterns see it."""

    text: str
    spellings: tuple[str, ...] = ()
    """Other spellings that an `ask` or a `deny` also matches, such as the base name of a program."""
    literal: bool = True
    """False: an `allow` matches only by the universal pattern."""
    read_only: bool = False
    """Whether `@read-only` matches."""
    fold: bool = False
    """Whether case does not matter for `ask` and `deny`."""
    url: bool = False
    """Whether it is a URL, in which a `*` of an `allow` may not reach over the host's end."""


@dataclass(frozen=True, kw_only=True)
class PathItem:
    """One form of a path, as patterns see it."""

    absolute: tuple[tuple[str, ...], ...]
    """Names from the root; several where a workspace folder is a link."""
    relative: tuple[tuple[str, ...], ...]
    """Names below each workspace folder that holds it; empty outside."""
    home: tuple[str, ...]
    folder: bool = False
    """Whether it is known to be a folder."""
    fold: bool = False
    """Whether the file system ignores case; a `deny` always does."""

    @cached_property
    def names(self) -> frozenset[str]:
        """All names in it, folded."""
        return names_in(self.absolute, self.relative)


Item = TextItem | PathItem


@dataclass(frozen=True, kw_only=True)
class Opinion:
    """What one layer says."""

    verdict: Verdict
    rules: tuple[Rule, ...]
    """The deciding rules: the most specific ones that have this verdict."""
    layer: Layer


@dataclass(frozen=True, kw_only=True)
class Ruling:
    """What all layers say together."""

    verdict: Verdict
    rule: Rule | None
    """None: no rule speaks of it, which is a deny."""
    absolute: bool = False
    """Whether the person allows it by an absolute pattern, as is needed outside the workspace, or by a host's
    name, as is needed in their own network."""


def rule_matches(rule: Rule, item: Item) -> bool:
    """Whether a rule's pattern speaks of the item."""
    if universal(rule.pattern):
        return True
    if isinstance(item, PathItem):
        return rule.tool not in TEXT_TOOLS and _path_matches(rule, item)
    if rule.pattern == READ_ONLY:
        return item.read_only
    if rule.verdict == "allow":
        fits = item.literal and text_matches(rule.pattern, item.text)
        return fits and (not item.url or host_fits(rule.pattern, item.text))
    return any(text_matches(rule.pattern, text, fold=item.fold) for text in (item.text, *item.spellings))


def _path_matches(rule: Rule, item: PathItem) -> bool:
    pattern = compile_pattern(rule.pattern, item.fold or rule.verdict == "deny")
    inside_only = pattern.folder_only and rule.verdict == "allow" and not item.folder
    if pattern.anchor == "any":
        candidates = item.relative or item.absolute
    elif pattern.anchor == "root":
        candidates = item.relative
    else:
        candidates = item.absolute
    segments = (
        pattern.segments
        if pattern.anchor != "home"
        else (*_folded(item.home, pattern.folded), *pattern.segments)
    )
    for names in (_folded(each, pattern.folded) for each in candidates):
        if pattern.needed is not None and pattern.needed not in names:
            continue
        if segments_match(segments, names, inside_only=inside_only):
            return True
    return False


@lru_cache(maxsize=1024)
def _folded(names: tuple[str, ...], fold: bool) -> tuple[str, ...]:
    return tuple(map(fold_name, names)) if fold else names


def more_specific(one: Rule, other: Rule) -> bool:
    """Whether a pattern is strictly more specific: the other matches its text, and not the reverse."""
    return covers(other, one) and not covers(one, other)


@lru_cache(maxsize=16384)
def _pattern_covers(pattern: str, text: str, paths: bool, folded: bool) -> bool:
    """Whether a pattern matches the text of another pattern."""
    if universal(pattern):
        return True
    if READ_ONLY in (pattern, text):
        return pattern == text
    if not paths:
        return text_matches(pattern, text)
    compiled, own = compile_pattern(pattern, folded), compile_pattern(text, folded)
    names = tuple(part for part in (fold_name(text) if folded else text).split("/") if part not in ("", "."))
    if own.anchor == "home":
        names = names[1:]
    same_anchor = compiled.anchor == own.anchor or {compiled.anchor, own.anchor} <= {"any", "root"}
    return (compiled.anchor == "any" or same_anchor) and segments_match(compiled.segments, names)


def covers(rule: Rule, other: Rule) -> bool:
    """Whether a rule's pattern matches the text of the other's."""
    return _pattern_covers(rule.pattern, other.pattern, rule.tool not in TEXT_TOOLS, rule.verdict == "deny")


def most_specific(rules: Sequence[Rule]) -> list[Rule]:
    """The rules that no strictly more specific one of them overrules."""
    return [
        rule for rule in rules if not any(more_specific(other, rule) for other in rules if other is not rule)
    ]


def opinion(layer: Layer, tool: str, item: Item) -> Opinion | None:
    """What a layer says of an item; None if nothing in it matches."""
    for group in entries(layer, tool):
        rules = group.near(item.names) if isinstance(item, PathItem) else group.rules
        matching = [rule for rule in rules if rule_matches(rule, item)]
        if matching:
            return _strictest(_narrowest_names(matching), layer)
    return None


def narrower_tool(one: str, other: str) -> bool:
    """Whether a key of tools is strictly more specific than another."""
    return text_matches(other, one) and not text_matches(one, other)


def _narrowest_names(matching: list[Rule]) -> list[Rule]:
    """Among globs of tool names, those that no narrower matching one overrules."""
    names = {rule.tool for rule in matching}
    if len(names) == 1:
        return matching
    kept = {name for name in names if not any(narrower_tool(other, name) for other in names - {name})}
    return [rule for rule in matching if rule.tool in kept]


def _strictest(matching: list[Rule], layer: Layer) -> Opinion:
    kept = [
        rule
        for name in {rule.tool for rule in matching}
        for rule in most_specific([r for r in matching if r.tool == name])
    ]
    verdict = max((rule.verdict for rule in kept), key=STRICTNESS.__getitem__)
    deciding = sorted(
        (rule for rule in kept if rule.verdict == verdict),
        key=lambda rule: (-len(rule.pattern), rule.pattern),
    )
    return Opinion(verdict=verdict, rules=tuple(deciding), layer=layer)


def rule_on(policy: Policy, tool: str, item: Item) -> Ruling:
    """What a policy alone, without its parents, says of an item."""
    found = [view for layer in in_order(policy.layers) if (view := opinion(layer, tool, item))]
    for view in found:
        if view.verdict == "deny" and view.layer.name != "default":
            return Ruling(verdict="deny", rule=view.rules[0])
    closed = next((view for view in found if view.verdict == "deny"), None)
    current = _fold(found) if closed is None else _fold_closed(found, closed)
    if current is None:
        return Ruling(verdict="deny", rule=None)
    absolute = any(
        view.layer.name in USER_LEVEL
        and view.verdict == "allow"
        and any(_names_place(rule, item) for rule in view.rules)
        for view in found
    )
    return Ruling(verdict=current.verdict, rule=current.rules[0], absolute=absolute)


def _names_place(rule: Rule, item: Item) -> bool:
    if isinstance(item, TextItem):
        return item.url and names_host(rule.pattern)
    return rule.pattern.startswith(("/", "~/")) or rule.pattern == "~"


def _fold(found: Iterable[Opinion]) -> Opinion | None:
    """The last opinion, where a weak layer only tightens and a grant opens no narrower question."""
    current: Opinion | None = None
    for view in found:
        if not view.layer.trusted and (
            current is None or STRICTNESS[view.verdict] <= STRICTNESS[current.verdict]
        ):
            continue
        if view.layer.name != "grant" or not _asks_for_more(current, view):
            current = view
    return current


def _asks_for_more(current: Opinion | None, grant: Opinion) -> bool:
    """Whether a question is about something narrower than the grant, and so stays."""
    return (
        current is not None
        and current.verdict == "ask"
        and any(more_specific(asking, granted) for asking in current.rules for granted in grant.rules)
    )


def _fold_closed(found: Sequence[Opinion], closed: Opinion) -> Opinion:
    """The built-in deny yields only where the person names the file; other layers can then only tighten."""
    current = closed
    for view in found:
        names_it = (
            view.layer.name in USER_LEVEL
            and view.layer.trusted
            and not all(broad(r.pattern) for r in view.rules)
        )
        if names_it or (current is not closed and STRICTNESS[view.verdict] > STRICTNESS[current.verdict]):
            current = view
    return current


def in_order(layers: Iterable[Layer]) -> list[Layer]:
    """The layers from the weakest to the strongest, whatever the order they were given in."""
    return sorted(layers, key=lambda layer: LAYERS.index(layer.name))


def rule_on_all(policy: Policy, tool: str, item: Item) -> Ruling:
    """The stricter of what a policy and its parents say of an item."""
    rulings = [rule_on(each, tool, item) for each in policy.chain()]
    worst = max(rulings, key=lambda ruling: STRICTNESS[ruling.verdict])
    return Ruling(verdict=worst.verdict, rule=worst.rule, absolute=all(ruling.absolute for ruling in rulings))
