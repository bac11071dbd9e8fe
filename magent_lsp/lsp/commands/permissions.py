"""Commands about permissions and questions: what waits, answers, why, grants."""

from typing import TYPE_CHECKING, Any

from magent_lsp.core.events import to_json
from magent_lsp.core.request import PermissionReply
from magent_lsp.lsp.commands.arguments import (
    AnswerArguments,
    ExplainArguments,
    GrantArguments,
    Nothing,
    RespondArguments,
)
from magent_lsp.lsp.protocol import request_params

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge
    from magent_lsp.permissions.rules import Rule


async def pending(edge: "Edge", arguments: Nothing) -> list[dict[str, Any]]:
    """Permission requests that wait for an answer."""
    return [request_params(request, edge.spell) for request in edge.app.pending()]


async def respond(edge: "Edge", arguments: RespondArguments) -> dict[str, bool]:
    """Answer a permission request; the first answer wins."""
    reply = PermissionReply(reply=arguments.reply, feedback=arguments.feedback or "")
    return {"ok": edge.app.respond(arguments.request_id, reply)}


async def answer(edge: "Edge", arguments: AnswerArguments) -> dict[str, bool]:
    """Answer an agent's question with one of its buttons; the first answer wins."""
    return {"ok": edge.questions.choose(arguments.question_id, arguments.answer)}


async def explain(edge: "Edge", arguments: ExplainArguments) -> dict[str, Any]:
    """The verdict on a call, and why."""
    decision = edge.app.explain(arguments.tool, arguments.arguments, arguments.agent)
    return {
        "verdict": decision.verdict,
        "reason": decision.reason,
        "rule": _rule(decision.rule),
        "source": _source(decision.rule),
        "atoms": [
            {
                "tool": atom.subject.tool,
                "subject": atom.subject.value,
                "verdict": atom.verdict,
                "reason": atom.reason,
                "rule": _rule(atom.rule),
                "source": _source(atom.rule),
            }
            for atom in decision.atoms
        ],
    }


async def grants(edge: "Edge", arguments: Nothing) -> list[dict[str, Any]]:
    """What was allowed for good."""
    return [{"grantId": grant.id, **to_json(grant)} for grant in edge.app.grants.list()]


async def revoke(edge: "Edge", arguments: GrantArguments) -> dict[str, bool]:
    """Take back one grant."""
    edge.app.grants.revoke(str(arguments.grant_id))
    edge.reload()
    return {"ok": True}


def _rule(rule: "Rule | None") -> dict[str, str] | None:
    return {"tool": rule.tool, "pattern": rule.pattern, "verdict": rule.verdict} if rule is not None else None


def _source(rule: "Rule | None") -> str | None:
    if rule is None:
        return None
    return f"{rule.source.name}:{rule.source.line}" if rule.source.line else rule.source.name
