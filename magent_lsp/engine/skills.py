"""Skills for a run: which are of use, and each loaded once."""

from collections.abc import Sequence

from magent_lsp.core.messages import Message, ToolMessage, UserMessage
from magent_lsp.core.tool import ToolResult
from magent_lsp.engine.run import Run
from magent_lsp.engine.snapshot import Snapshot
from magent_lsp.permissions.judge import offered
from magent_lsp.permissions.rules import Policy
from magent_lsp.store.skills import Skill, render_skill


def useful(snapshot: Snapshot, policy: Policy, language: str | None) -> list[Skill]:
    """The skills that are of use here: those whose tool, if they need one, is offered too.

    `language` is that of the code which the editor can run; None: it runs none.
    """
    names = {tool.name for tool in snapshot.tools if offered(tool.name, policy)}
    if language is None:
        names.discard("editor_eval")
    return [skill for skill in snapshot.skills.values() if skill.needs is None or skill.needs in names]


def load_skill(run: Run, name: str, arguments: str) -> ToolResult:
    """A skill's body, wrapped for the model; only a word about it if the model still has it before it."""
    known = {skill.name: skill for skill in useful(run.snapshot, run.policy, run.host.editor.language)}
    skill = known.get(name)
    if skill is None:
        names = ", ".join(sorted(known)) or "none"
        return ToolResult(text=f"There is no skill {name!r}. Available: {names}.", failed=True)
    text = render_skill(skill, arguments)
    body = text.partition("\n")[2].rpartition("\n")[0]
    if run.session.skills.get(name) == body and _in_sight(name, run.session.messages):
        return ToolResult(text=f"The skill {name!r} is loaded already: follow it as it stands above.")
    return ToolResult(text=text, skill=(name, body))


def _in_sight(name: str, messages: Sequence[Message]) -> bool:
    """Whether the conversation still holds the skill's text: compaction may have taken it out."""
    mark = f'<skill-loaded name="{name}">'
    return any(mark in message.text for message in messages if isinstance(message, UserMessage | ToolMessage))
