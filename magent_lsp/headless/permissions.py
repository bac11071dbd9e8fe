"""`magent-lsp permissions explain`: what a call may do, and which rule says so."""

from collections.abc import Sequence
from json import dumps
from pathlib import Path
from typing import Any

from magent_lsp.engine.explain import arguments_of
from magent_lsp.event_loop import finish
from magent_lsp.headless.start import Options, quiet
from magent_lsp.headless.terminal import Terminal
from magent_lsp.permissions.decision import Decision
from magent_lsp.permissions.rules import Rule
from magent_lsp.store.toolnames import permission_tools

_STYLES = {"allow": "green", "ask": "yellow", "deny": "red"}


def explain(
    folder: Path, tool: str, words: Sequence[str], *, agent: str | None, allow: tuple[str, ...], json: bool
) -> int:
    """Write the verdict on a call and its reason to stdout."""
    terminal = Terminal.standard()
    # `edit` is a key of rules, for which there are two tools.
    tools = permission_tools(tool) if tool == "edit" else (tool,)
    decisions = finish(_explain(Options(cwd=folder, agent=agent, allow=allow), tools, list(words)))
    if json:
        found = {name: _to_json(decision) for name, decision in decisions.items()}
        terminal.data(dumps(found if len(found) > 1 else found[tool]))
        return 0
    terminal = terminal.for_stdout()
    if len(decisions) > 1:
        terminal.line(f"`{tool}` in a rule means {' and '.join(decisions)}.")
    for decision in decisions.values():
        show_decision(decision, terminal)
    return 0


async def _explain(options: Options, tools: Sequence[str], words: list[str]) -> dict[str, Decision]:
    async with quiet(options) as magent:
        return {
            tool: magent.explain(tool, arguments_of(tool, words, magent.snapshot()), options.agent)
            for tool in tools
        }


def show_decision(decision: Decision, terminal: Terminal) -> None:
    """Write a verdict, and those on the parts of the call where it has several."""
    terminal.line(f"{decision.verdict}: {decision.reason}", f"bold {_STYLES[decision.verdict]}")
    if len(decision.atoms) > 1:
        for atom in decision.atoms:
            what = f"{atom.subject.tool} {atom.subject.value}".strip()
            terminal.line(f"  {atom.verdict}: {what}: {atom.reason}", _STYLES[atom.verdict])


def _to_json(decision: Decision) -> dict[str, Any]:
    return {
        "verdict": decision.verdict,
        "reason": decision.reason,
        "rule": _rule(decision.rule),
        "protected": decision.protected,
        "atoms": [
            {
                "tool": atom.subject.tool,
                "value": atom.subject.value,
                "verdict": atom.verdict,
                "reason": atom.reason,
                "rule": _rule(atom.rule),
            }
            for atom in decision.atoms
        ],
    }


def _rule(rule: Rule | None) -> dict[str, Any] | None:
    if rule is None:
        return None
    source = {"name": rule.source.name, "line": rule.source.line}
    return {"tool": rule.tool, "pattern": rule.pattern, "verdict": rule.verdict, "source": source}
