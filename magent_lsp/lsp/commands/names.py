"""The names of all commands: advertised before anything heavy is loaded."""

COMMANDS: tuple[str, ...] = (
    "magent.prompt",
    "magent.ask",
    "magent.steer",
    "magent.cancel",
    "magent.pending",
    "magent.respond",
    "magent.answer",
    "magent.undo",
    "magent.redo",
    "magent.status",
    "magent.agents",
    "magent.models",
    "magent.slashCommands",
    "magent.skills",
    "magent.tools",
    "magent.sessions",
    "magent.searchSessions",
    "magent.newSession",
    "magent.forkSession",
    "magent.renameSession",
    "magent.summarizeSession",
    "magent.exportSession",
    "magent.compactSession",
    "magent.deleteSession",
    "magent.saveAgent",
    "magent.explainPermission",
    "magent.grants",
    "magent.revokeGrant",
    "magent.trust",
    "magent.openChat",
    "magent.send",
    "magent.doctor",
)

REQUESTS: tuple[str, ...] = ("magent/ask", "magent/wait")
"""Custom requests that a client may send."""
