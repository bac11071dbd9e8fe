"""The settings, with their defaults and what they mean; documentation and editors read them from here."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class _Part(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True, defer_build=True
    )


class Retry(_Part):
    """How requests to the model are tried again."""

    tries: int = Field(5, ge=1, le=20, description="How often one request is tried in all.")
    base_seconds: float = Field(2, ge=0, description="First wait; doubles with each try.")
    max_seconds: float = Field(30, ge=0, description="Longest wait; a longer Retry-After ends the run.")


class Timeouts(_Part):
    """Seconds to wait for the model."""

    connect: float = Field(10, gt=0, description="To connect.")
    first_chunk: float = Field(180, gt=0, description="For the first piece of an answer.")
    chunk: float = Field(60, gt=0, description="For each further piece.")


class Bash(_Part):
    """Shell commands of the agent."""

    timeout_seconds: float = Field(30, gt=0, description="Limit of a command that names none.")
    sandbox: Literal["off", "bwrap"] = Field("off", description="`bwrap` runs commands in bubblewrap.")
    network: bool = Field(False, description="Whether sandboxed commands may use the network.")
    pass_env: list[str] = Field(
        default_factory=list, description="Secret variables that commands may see all the same."
    )


class Edits(_Part):
    """How edits reach files."""

    closed_files: Literal["auto", "editor", "disk"] = Field(
        "auto", description="How files that are not open are edited: `auto` asks the client what it can do."
    )
    save_before_commands: Literal["never", "ask", "always"] = Field(
        "ask", description="Whether unsaved buffers are saved before a command runs."
    )


class Actions(_Part):
    """Which code actions are offered."""

    explain: bool = Field(True, description="Explain the selection.")
    improve: bool = Field(True, description="Improve the selection.")
    fix: bool = Field(True, description="Fix a diagnostic.")
    tests: bool = Field(True, description="Write tests for the selection.")
    document: bool = Field(True, description="Document the selection.")
    comment: bool = Field(True, description="Do what the comment at the cursor says.")
    commands: bool = Field(True, description="User commands marked `codeAction: true`.")
    chat: bool = Field(True, description="Open a chat document.")


class Settings(_Part):
    """All settings; the keys are camelCase in every source."""

    model: str = Field(
        "auto",
        description="`auto`, `provider/name` as in LiteLLM, or `scripted:FILE` (a recorded script).",
    )
    small_model: str | None = Field(
        None,
        description="Model for titles and summaries; default: the main model, with `model: auto` "
        "the provider's small one.",
    )
    api_base: str | None = Field(None, description="Address of the provider, if not its usual one.")
    api_key_command: str | None = Field(
        None, description="A command that prints the API key, for those who keep it in a keyring."
    )
    retry: Retry = Field(default_factory=Retry, description="Repeated requests.")
    timeouts: Timeouts = Field(default_factory=Timeouts, description="Waiting for the model.")
    model_settings: dict[str, Any] = Field(
        default_factory=dict,
        description="`temperature`, `topP`, `maxTokens` and any other option of the provider.",
    )
    context_limit: int | None = Field(
        None, ge=1000, description="Size of the model's window in tokens, where the catalogue is wrong."
    )
    agent: str = Field("build", description="The agent of a new session.")
    permission: dict[str, Any] | str = Field(
        default_factory=dict,
        description="Rules: tool to `allow`, `ask` or `deny`, or tool to a map of pattern to verdict.",
    )
    permission_timeout_minutes: float | None = Field(
        None, gt=0, description="A permission question nobody answers is rejected after this; default: never."
    )
    max_turns: int = Field(50, ge=1, description="Requests to the model in one run.")
    max_cost_usd: float | None = Field(None, gt=0, description="A run stops before it costs more.")
    max_minutes: float | None = Field(None, gt=0, description="A run stops after this time.")
    max_history: int | None = Field(
        None, ge=2, description="Messages of earlier turns that are sent; default: as many as fit."
    )
    bash: Bash = Field(default_factory=Bash, description="Shell commands.")
    max_tool_output_chars: int = Field(
        30_000, ge=1000, description="Longer output of a tool keeps its head and tail."
    )
    edits: Edits = Field(default_factory=Edits, description="Edits.")
    actions: Actions = Field(default_factory=Actions, description="Code actions.")
    instructions: list[str] = Field(
        default_factory=list, description="Globs of further instruction files for the model."
    )
    hooks: dict[str, Any] = Field(default_factory=dict, description="Commands run at events; see the guide.")
    mcp_servers: dict[str, Any] = Field(
        default_factory=dict,
        description="MCP servers whose tools the agent may ask for; see the guide.",
    )
    serve_mcp: bool = Field(
        False,
        description="Whether agents of other programs may use your editor through `magent-lsp mcp`; "
        "a project's config cannot turn it on.",
    )
    warm_up: bool = Field(True, description="Load the model client in the background after start.")
    save_reasoning: bool = Field(False, description="Keep the model's reasoning in session files.")
    titles: bool = Field(
        True, description="Whether the small model names a session after its first turn, in the background."
    )
    resume: Literal["off", "last"] = Field(
        "off",
        description="`last`: the first prompt after a start goes on with the workspace's last session.",
    )
    telemetry: Literal["off", "otel"] = Field(
        "off",
        description="`otel` makes OpenTelemetry spans of runs, requests and tools, without their content.",
    )
    log: Literal["off", "error", "warning", "info", "debug"] = Field(
        "warning", description="What is sent to the editor's log."
    )


class Client(_Part):
    """What a shim can do beyond the protocol; read from `initializationOptions` only."""

    events: bool = False
    save: bool = False
    input: bool = False
    eval: Literal["elisp", "lua"] | None = None
    diff: bool = False
    edits_after_actions: bool = False
