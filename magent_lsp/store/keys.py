"""The keys that front matter and hooks may have: what loaders know, and editors complete and explain."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Key:
    """One key, as we write it."""

    name: str
    type: str
    """In words."""
    meaning: str
    default: str = ""
    """In words; empty: nothing."""
    foreign: bool = False
    """Another program's key, which is read and means nothing here."""


def canonical_names(keys: Iterable[Key]) -> dict[str, str]:
    """Each key without dashes and capitals, and as we write it."""
    return {key.name.replace("-", "").lower(): key.name for key in keys}


_MODEL: Final = "`provider/name`; `inherit`, `sonnet`, `opus` and `haiku` mean the session's model."

AGENT: Final = (
    Key(name="name", type="text", default="the file's name", meaning="Its name."),
    Key(
        name="description",
        type="text",
        default="required",
        meaning="What it is for; people and models choose by it.",
    ),
    Key(
        name="mode",
        type="primary | subagent | all",
        default="all",
        meaning="`primary`: for people; `subagent`: for other agents.",
    ),
    Key(name="model", type="text", default="the session's", meaning=_MODEL),
    Key(name="temperature", type="number from 0 to 2", meaning="Sent to the model."),
    Key(name="topP", type="number from 0 to 1", meaning="Sent to the model."),
    Key(
        name="maxTurns",
        type="whole number from 1",
        default="the setting `maxTurns`",
        meaning="Requests to the model in one run.",
    ),
    Key(
        name="tools",
        type="list, text, or map of name to true or false",
        default="all that is permitted",
        meaning="A list leaves out all others; `false` takes one away.",
    ),
    Key(name="disallowedTools", type="list or text", meaning="Tools it never has."),
    Key(
        name="permission",
        type="map of tool to verdict, or to a map of pattern to verdict",
        meaning="As in the settings. `edit` covers `edit_file` and `write_file`; `@read-only` stands for the "
        "commands under `bash`, and for the MCP tools under `mcp__*`, that only read.",
    ),
    Key(name="options", type="mapping", meaning="Sent to the model as they are."),
    Key(name="hidden", type="true | false", default="false", meaning="Not listed for people or models."),
    Key(name="color", type="text", meaning="For editors that show one."),
    Key(name="disable", type="true | false", default="false", meaning="Takes an agent of this name away."),
)

SKILL: Final = (
    Key(
        name="name",
        type="small letters, digits and single dashes, at most 64",
        default="the folder's name",
        meaning="Its name.",
    ),
    Key(
        name="description",
        type="text of at most 1024 characters",
        default="required",
        meaning="What it holds and when to use it; all that the model knows before it loads the skill.",
    ),
    Key(name="license", type="text", meaning="Its license."),
    Key(name="compatibility", type="text", meaning="What it needs."),
    Key(
        name="metadata",
        type="mapping",
        meaning="Anything; `needs-tool` names a tool without which it is not offered.",
    ),
    Key(
        name="allowed-tools",
        type="list or text",
        meaning="Tools it says it needs; never allows anything by itself.",
    ),
)

COMMAND: Final = (
    Key(name="description", type="text", default="the first line", meaning="What it does, for the list."),
    Key(name="agent", type="text", default="the session's", meaning="The agent that runs it."),
    Key(name="model", type="text", default="the session's", meaning=_MODEL),
    Key(
        name="allowed-tools",
        type="list or text",
        default="those of the agent",
        meaning="Limits the tools, such as `bash(git log *)`; never allows more.",
    ),
    Key(name="argument-hint", type="text", meaning="Shown beside its name."),
    Key(
        name="subtask",
        type="true | false",
        default="false",
        meaning="Runs as a subagent, apart from the conversation.",
    ),
    Key(name="codeAction", type="true | false", default="false", meaning="Offered as a code action."),
    Key(
        name="kind",
        type="a kind of code action, below quickfix, refactor or source",
        default="refactor.rewrite",
        meaning="The kind of that code action.",
    ),
    Key(name="name", type="text", meaning="Claude's; commands are named by their file.", foreign=True),
    Key(
        name="disable-model-invocation",
        type="true | false",
        meaning="Claude's; only people call commands.",
        foreign=True,
    ),
)

HOOK: Final = (
    Key(
        name="matcher",
        type="regular expression",
        default="everything",
        meaning="Tried on the whole name of the tool, ours or Claude's.",
    ),
    Key(
        name="command",
        type="text",
        default="required",
        meaning="The shell command to run; it gets JSON on standard input.",
    ),
    Key(name="timeout", type="seconds, at most 600", default="60", meaning="How long it may take."),
    Key(
        name="failClosed",
        type="true | false",
        default="false",
        meaning="Whether a failure of any kind denies. Else a time-out, a kill or bad JSON asks, "
        "and an exit code is only told.",
    ),
    Key(name="type", type="command", default="command", meaning="Claude's; only `command` is supported."),
    Key(name="hooks", type="list", meaning="Claude's nested form: the commands of this matcher."),
)

EVENT: Final = tuple(
    Key(
        name=name,
        type="list of hooks",
        meaning=f"{when}; the matcher is tried on {subject}." if subject else f"{when}.",
    )
    for name, when, subject in (
        ("SessionStart", "Before the first prompt of a session", "`startup`, `resume` or `clear`"),
        ("UserPromptSubmit", "Before a prompt is looked at", ""),
        ("PreToolUse", "Before a call is judged", "the tool"),
        ("PermissionRequest", "Before a person is asked", "the tool"),
        ("PostToolUse", "After a call", "the tool"),
        ("PostToolUseFailure", "After a call that failed", "the tool"),
        ("SubagentStart", "Before a subagent begins", "the agent"),
        ("SubagentStop", "Before a subagent ends", "the agent"),
        ("Stop", "When the agent believes it has finished", ""),
        ("PreCompact", "Before a conversation is summarised", "`manual` or `auto`"),
        ("SessionEnd", "When a session is closed or cleared", "`clear` or `other`"),
        ("Notification", "When a person is waited for", "`permission_prompt` or `question`"),
    )
)

MCP_SERVER: Final = (
    Key(
        name="command",
        type="text",
        meaning="The program to start, for a server on standard input and output.",
    ),
    Key(name="args", type="list", meaning="Its arguments."),
    Key(name="env", type="mapping", meaning="Variables of its environment, beside ours without our secrets."),
    Key(name="cwd", type="text", default="the workspace folder", meaning="The folder in which it starts."),
    Key(name="url", type="text", meaning="The address of a server that runs already (streamable HTTP)."),
    Key(name="headers", type="mapping", meaning="Headers of each request to it."),
    Key(
        name="timeout",
        type="seconds",
        default="120",
        meaning="How long a call may take, or be without a word of progress.",
    ),
    Key(
        name="startTimeout",
        type="seconds, at most 600",
        default="10",
        meaning="How long a prompt waits for it; it goes on starting meanwhile.",
    ),
    Key(name="disabled", type="true | false", default="false", meaning="Leaves it out."),
    Key(
        name="type",
        type="stdio | http",
        default="by what is given",
        meaning="Other programs' word for what `command` and `url` say already.",
        foreign=True,
    ),
)
