"""Commands that make files or documents: the doctor's report, an agent as a file."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from magent_lsp.core.agent import Agent
from magent_lsp.core.edits import TextEdits, apply_replacements
from magent_lsp.core.errors import CallerError, UnknownId, UserError
from magent_lsp.core.home import expanded
from magent_lsp.core.splice import rewrite
from magent_lsp.lsp.commands.arguments import Nothing, SaveAgentArguments
from magent_lsp.lsp.convert import to_path, to_uri
from magent_lsp.store.agent_file import agent_of
from magent_lsp.store.agent_save import save_agent as write_agent
from magent_lsp.store.agent_save import saved_text
from magent_lsp.store.frontmatter import parse_front

if TYPE_CHECKING:
    from magent_lsp.lsp.edge import Edge


async def doctor(edge: "Edge", arguments: Nothing) -> dict[str, bool]:
    """What is configured and what is missing; the report is opened as a document when it is made."""
    edge.spawn(_doctor(edge), name="doctor")
    return {"ok": True}


async def _doctor(edge: "Edge") -> None:
    report = await edge.app.doctor()
    text = report.markdown()
    outcomes = edge.watch.outcomes
    try:
        path = await outcomes.keep("doctor", "magent doctor", text)
        shown = edge.can_show_documents and await outcomes.open_document(path)
    except UserError as error:
        shown, text = False, f"{text}\n{error}"
    if not shown:
        edge.server.message(types.MessageType.Info, text)


async def save_agent(edge: "Edge", arguments: SaveAgentArguments) -> dict[str, Any]:
    """Write an agent to its file, changed as asked; what a person wrote there otherwise stays."""
    given = arguments.model_dump(exclude_none=True, exclude={"name", "path"})
    agent = edge.app.agents().get(arguments.name)
    if agent is not None:
        agent = replace(agent, **given)
    elif "description" in given and "prompt" in given:
        agent = Agent(name=arguments.name, **given)
    else:
        raise UnknownId(
            f"'name': there is no agent {arguments.name!r}; a new one needs 'description' and 'prompt'."
        )
    path = _target(edge, arguments, agent)
    if edge.open_text(to_uri(path)) is not None:
        await _in_buffer(edge, agent, given, path)
    else:
        await edge.in_thread(write_agent, agent, path)
    edge.reload()
    return {"uri": to_uri(path)}


async def _in_buffer(edge: "Edge", agent: Agent, given: dict[str, Any], path: Path) -> None:
    """Change the open file where a person may be writing: what they have not saved stays, and counts."""
    document = await edge.editor.read(path)
    typed = agent_of(parse_front(document.text, path), trusted=agent.trusted, native=agent.native).agent
    replacements = rewrite(document.text, saved_text(document.text, replace(typed, **given), path))
    if not replacements:
        return
    after = apply_replacements(document.text, replacements)
    edit = TextEdits(path=document.path, replacements=replacements, before=document.text, after=after)
    edge.spawn(_apply(edge, edit, agent.name), name="save agent")  # some editors answer only afterwards


async def _apply(edge: "Edge", edit: TextEdits, name: str) -> None:
    outcome = await edge.editor.apply(edit, f"Save the agent {name}")
    if outcome.outcome != "applied":
        text = f"Magent: the edit of {edit.path.name} is {outcome.outcome}. {outcome.detail}".strip()
        edge.server.message(types.MessageType.Warning, text)


def _target(edge: "Edge", arguments: SaveAgentArguments, agent: Agent) -> Path:
    """The path that is named, else the agent's own file, else one in the project or the user's folder."""
    base = edge.app.folders[0] if edge.app.folders else edge.dirs.user
    if arguments.path is not None:
        named = to_path(arguments.path) if "://" in arguments.path else base / expanded(arguments.path)
        if named is None or named.suffix != ".md":
            raise CallerError(f"'path' {arguments.path!r} is no Markdown file: its name must end in .md.")
        return named
    if agent.source is not None and not agent.native:
        return agent.source
    return (base / ".magent" if edge.app.folders else base) / "agent" / f"{arguments.name}.md"
