"""What a hook said, and what several of them come to together; pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from magent_lsp.core.tool import Verdict
from magent_lsp.permissions.rules import STRICTNESS
from magent_lsp.store.hooks import Hook

GUARDS: Final = frozenset({"PreToolUse", "PermissionRequest"})
"""Events whose hooks decide about a call: where they fail, nobody has decided."""
TELLERS: Final = frozenset({"SessionStart", "SubagentStart", "UserPromptSubmit"})
"""Events whose plain output is context for the model."""
NOT_STARTED: Final[Mapping[int, str]] = {
    126: "; make the file executable with `chmod +x`",
    127: "; give the path of a command that exists",
}
"""Exit codes with which a shell says that the command could not be run, and what mends that."""


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What one hook wants, or the strictest of what several want."""

    verdict: Verdict = "allow"
    """`deny` also stands for a block; `allow` never opens what a rule keeps shut."""
    reason: str = ""
    halted: str = ""
    """Why the run must end; empty: it need not."""
    updated: Mapping[str, Any] | None = None
    """Other arguments for the call, in the form that the hook was given."""
    context: str = ""
    """For the model."""
    messages: tuple[str, ...] = ()
    """For the person."""
    problems: tuple[str, ...] = ()
    """What went wrong with the hook itself, for the person."""
    rewriter: Hook | None = None
    """Whose `updated` it is."""

    @property
    def blocked(self) -> bool:
        """Whether what was about to happen must not."""
        return self.verdict == "deny"


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, defer_build=True)


class _Choice(_Part):
    """A decision about a permission request."""

    behavior: Literal["allow", "deny"]
    message: str = ""
    updatedInput: dict[str, Any] | None = None


class _Output(_Part):
    """The JSON that a hook may print."""

    go_on: bool = Field(True, alias="continue")
    stopReason: str | None = None
    systemMessage: str | None = None
    decision: Literal["approve", "allow", "block", "deny", "ask"] | _Choice | None = None
    reason: str | None = None
    permissionDecision: Verdict | None = None
    permissionDecisionReason: str | None = None
    updatedInput: dict[str, Any] | None = None
    additionalContext: str | None = None


_VERDICTS: Final[Mapping[str, Verdict]] = {"block": "deny", "deny": "deny", "ask": "ask"}


def read_reply(hook: Hook, code: int, out: str, err: str) -> Reply:
    """What a hook said that ended with this exit code and these outputs."""
    if code == 2:
        return Reply(verdict="deny", reason=err.strip() or f"{label(hook)} blocked this.")
    if code != 0:
        crashed = code < 0 or code in NOT_STARTED or code > 128
        return failure(hook, _ended(code, err), crashed=crashed)
    text = out.strip()
    if not text.startswith("{"):
        return Reply(context=text if hook.event in TELLERS else "")
    try:
        output = _parsed(text)
    except (ValueError, RecursionError) as error:
        what = "; ".join(_faults(error)) if isinstance(error, ValidationError) else str(error)
        return failure(hook, f"printed JSON that cannot be read ({what[:300]})", crashed=True)
    return _meaning(hook, output)


def failure(hook: Hook, what: str, *, crashed: bool) -> Reply:
    """A hook that said nothing: a guard's silence is a question, or with `failClosed` a no.

    `crashed` is false for an ordinary exit code that is neither 0 nor 2: that is only reported, unless the
    hook must fail closed.
    """
    problem = f"{label(hook)} {what}."
    if hook.fail_closed and (hook.event in GUARDS or hook.event == "UserPromptSubmit"):
        return Reply(verdict="deny", reason=problem, problems=(problem,))
    if hook.event in GUARDS and crashed:
        return Reply(verdict="ask", reason=problem, problems=(problem,))
    return Reply(problems=(problem,))


def merged(replies: Sequence[Reply]) -> Reply:
    """The strictest of several; everything that was said is kept, the first change of arguments counts."""
    if not replies:
        return Reply()
    verdict = max((reply.verdict for reply in replies), key=lambda each: STRICTNESS[each])
    reasons = (reply.reason for reply in replies if reply.verdict == verdict and reply.reason)
    rewriting = next((reply for reply in replies if reply.updated is not None), Reply())
    return Reply(
        verdict=verdict,
        reason="\n".join(dict.fromkeys(reasons)),
        halted=next((reply.halted for reply in replies if reply.halted), ""),
        updated=rewriting.updated,
        rewriter=rewriting.rewriter,
        context="\n".join(reply.context for reply in replies if reply.context),
        messages=tuple(message for reply in replies for message in reply.messages),
        problems=tuple(problem for reply in replies for problem in reply.problems),
    )


def label(hook: Hook) -> str:
    """A hook as people and models see it: its command, cut, and where it is written."""
    first, *more = hook.command.strip().split("\n")
    command = first if len(first) <= 60 and not more else f"{first[:59]}…"
    where = f" ({hook.path.name}:{hook.line})" if hook.path and hook.line else ""
    return f"The {hook.event} hook `{command}`{where}"


def _parsed(text: str) -> _Output:
    value = json.loads(text)
    specific = value.pop("hookSpecificOutput", None)
    if specific is not None and not isinstance(specific, dict):
        raise ValueError("hookSpecificOutput is no object")
    return _Output.model_validate({**value, **(specific or {})})


def _meaning(hook: Hook, output: _Output) -> Reply:
    choice = output.decision
    updated = output.updatedInput
    verdict, reason = _VERDICTS.get(str(choice), "allow"), output.reason or ""
    if isinstance(choice, _Choice):
        verdict, reason = choice.behavior, choice.message
        updated = updated or choice.updatedInput
    decided = output.permissionDecision
    if decided is not None and STRICTNESS[decided] >= STRICTNESS[verdict]:
        verdict, reason = decided, output.permissionDecisionReason or reason
    if verdict != "allow" and not reason:
        reason = f"{label(hook)} {'blocked this' if verdict == 'deny' else 'wants you to decide'}."
    return Reply(
        verdict=verdict,
        reason=reason,
        halted="" if output.go_on else output.stopReason or f"{label(hook)} stopped the run.",
        updated=updated,
        rewriter=hook if updated is not None else None,
        context=(output.additionalContext or "").strip(),
        messages=(output.systemMessage,) if output.systemMessage else (),
    )


def _ended(code: int, err: str) -> str:
    how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
    last = err.strip().rpartition("\n")[2][:200].rstrip(".")
    mend = NOT_STARTED.get(code, "")
    return f"{how}: {last}{mend}" if last else f"{how}{mend}"


def _faults(error: ValidationError) -> list[str]:
    return [
        f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}"
        for fault in error.errors(include_url=False)[:3]
    ]
