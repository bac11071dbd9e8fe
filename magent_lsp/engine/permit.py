"""From a verdict to a yes or a no: what a person is shown, and what is kept of the answer."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from magent_lsp.core.diff import one_line, reveal
from magent_lsp.core.edits import CreateFile, DeleteFile, FileEdit, TextEdits
from magent_lsp.core.errors import MagentError
from magent_lsp.core.request import Comparison, PermissionOption, PermissionReply, PermissionRequest
from magent_lsp.core.tool import Proposal, Subject
from magent_lsp.engine.asking import WAITING
from magent_lsp.engine.hooks import ToolUse
from magent_lsp.engine.run import Run
from magent_lsp.permissions.decision import Decision
from magent_lsp.permissions.judge import MAX_SHOWN, judge
from magent_lsp.permissions.rules import Rule
from magent_lsp.permissions.tools import OUTSIDE


class Refused(MagentError):
    """The call is not allowed; the loop goes on and the model is told."""


class Rejected(MagentError):
    """A person said no without a word more: the turn ends."""


class Declined(MagentError):
    """A person said no and why: the loop goes on with their words."""


def judge_for(run: Run, subjects: Sequence[Subject]) -> Decision:
    """The verdict of the rules in force now."""
    return judge(subjects, run.policy, run.place)


async def permit(
    run: Run,
    *,
    call_id: str,
    tool: str,
    title: str,
    subjects: Sequence[Subject],
    proposal: Proposal | None,
    arguments: Mapping[str, Any] | None = None,
    raised: str = "",
) -> None:
    """Return if the call may go on; else raise Refused, Rejected or Declined.

    `raised` is why a hook wants a person to decide, whatever the rules allow.
    """
    decision = judge_for(run, subjects)
    if decision.verdict == "allow":
        if not raised:
            return
        decision = replace(decision, verdict="ask", reason=raised)
    if decision.verdict == "deny":
        raise Refused(f"Not allowed: {decision.reason} Nothing was done.")
    host = run.host
    if host.assume_yes and not decision.protected:
        return
    if not host.interactive:
        run.root.refused += 1
        run.root.protected += decision.protected
        raise Refused(
            f"This needs a permission that nobody can give here: {decision.reason} Nothing was done."
        )
    if any(host.redact(rule.pattern) != rule.pattern for rule in decision.grants):
        decision = replace(decision, grants=(), always=False)  # a secret is not kept in a file of rules
    use = ToolUse(name=tool, arguments=arguments or {}, call_id=call_id)
    hooked = await run.hooks.fire("PermissionRequest", tool=use)
    if hooked.blocked or hooked.halted:
        run.halted = run.halted or hooked.halted
        raise Refused(f"Not allowed: {hooked.reason or hooked.halted} Nothing was done.")
    reply = await _ask(run, _request(run, call_id, tool, title, decision, proposal), subjects, raised)
    if reply.reply == "reject":
        if reply.feedback:
            raise Declined(f"The user rejected this and says: {reply.feedback}\nNothing was done.")
        raise Rejected("The user rejected this. Nothing was done.")
    if reply.reply == "allow_session":
        for rule in decision.grants:
            run.root.session.grant(rule)
    elif reply.reply == "allow_always":
        host.remember(decision.grants, title)
        for rule in decision.grants:
            run.root.session.grant(rule)


async def _ask(
    run: Run, request: PermissionRequest, subjects: Sequence[Subject], raised: str
) -> PermissionReply:
    before, doing = run.state, run.doing
    run.state, run.doing = "waiting", WAITING
    run.hooks.tell(
        "Notification",
        "permission_prompt",
        notification_type="permission_prompt",
        title=request.title,
        message=f"{run.agent.name} needs your permission: {request.command or request.title}",
    )
    try:
        with run.budget.waiting():
            return await run.host.gate.ask(
                request,
                run.root.emit,
                still_needed=lambda: bool(raised) or judge_for(run, subjects).verdict != "allow",
                minutes=run.settings.permission_timeout_minutes,
            )
    finally:
        run.state, run.doing = before, doing


def _request(
    run: Run, call_id: str, tool: str, title: str, decision: Decision, proposal: Proposal | None
) -> PermissionRequest:
    """What a person decides on; what could hide a part of it from them is written out, secrets are not."""

    def shown(text: str) -> str:
        return reveal(run.host.redact(text))

    def line(text: str) -> str:
        return one_line(shown(text))

    options = [PermissionOption(reply="allow_once", title="Allow once")]
    whole = proposal is None or proposal.command is None or len(proposal.command) <= MAX_SHOWN
    if decision.grants and whole:
        what = line(", ".join(dict.fromkeys(_shown(run, rule) for rule in decision.grants)))
        options.append(PermissionOption(reply="allow_session", title=f"Allow {what} in this session"))
        if decision.always:
            options.append(PermissionOption(reply="allow_always", title=f"Always allow {what}"))
    options.append(PermissionOption(reply="reject", title="Reject"))
    return PermissionRequest(
        request_id=f"ask-{uuid.uuid4().hex[:10]}",
        run_id=run.root.id,
        session_id=run.root.session.id,
        tool_call_id=call_id,
        tool=tool,
        title=line(f"{guest.name}: {title}" if (guest := run.root.guest) is not None else title),
        reason=shown(decision.reason),
        options=tuple(options),
        command=shown(proposal.command) if proposal and proposal.command is not None else None,
        diff=shown(proposal.diff) if proposal and proposal.diff is not None else None,
        paths=tuple(reveal(run.name_path(path)) for path in proposal.paths) if proposal else (),
        uris=tuple(path.as_uri() for path in proposal.paths) if proposal else (),
        comparison=_comparison(proposal.edit) if proposal else None,
    )


def _comparison(edit: FileEdit | None) -> Comparison | None:
    """The texts of an edit; None where there are no two."""
    match edit:
        case TextEdits():
            return Comparison(edit.path, edit.before, edit.after)
        case CreateFile():
            return Comparison(edit.path, "", edit.text)
        case DeleteFile():
            return Comparison(edit.path, edit.before, "")
    return None


def _shown(run: Run, rule: Rule) -> str:
    """A rule's pattern for a button: files of the workspace by their short name."""
    if rule.pattern == "*" or rule.tool.startswith(OUTSIDE):
        return rule.tool
    return run.name_path(Path(rule.pattern)) if rule.pattern.startswith("/") else rule.pattern
