"""All commands, each with the function that carries it out: advertised before anything heavy is loaded."""

from collections.abc import Mapping

COMMANDS: Mapping[str, str] = {
    "magent.prompt": "runs.prompt",
    "magent.ask": "runs.ask",
    "magent.steer": "runs.steer",
    "magent.cancel": "runs.cancel",
    "magent.pending": "permissions.pending",
    "magent.respond": "permissions.respond",
    "magent.answer": "permissions.answer",
    "magent.undo": "runs.undo",
    "magent.redo": "runs.redo",
    "magent.status": "runs.status",
    "magent.agents": "lists.agents",
    "magent.models": "lists.models",
    "magent.slashCommands": "lists.slash_commands",
    "magent.skills": "lists.skills",
    "magent.tools": "lists.tools",
    "magent.sessions": "sessions.sessions",
    "magent.searchSessions": "sessions.search",
    "magent.newSession": "sessions.new",
    "magent.forkSession": "sessions.fork",
    "magent.renameSession": "sessions.rename",
    "magent.summarizeSession": "sessions.summarize",
    "magent.exportSession": "sessions.export",
    "magent.compactSession": "sessions.compact",
    "magent.deleteSession": "sessions.delete",
    "magent.saveAgent": "files.save_agent",
    "magent.explainPermission": "permissions.explain",
    "magent.grants": "permissions.grants",
    "magent.revokeGrant": "permissions.revoke",
    "magent.trust": "trust.trust",
    "magent.openChat": "chats.open_chat",
    "magent.send": "chats.send",
    "magent.doctor": "files.doctor",
}
"""Name -> `module.function` in this package; the class of its `arguments` checks them."""

REQUESTS: tuple[str, ...] = ("magent/ask", "magent/wait")
"""Custom requests that a client may send."""
