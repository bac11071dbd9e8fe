"""Our tools, in the one order in which models see them, and what holds for each where no rule speaks.

A tool is a file in `tools/`, named as the tool, and a line in this table.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from magent_lsp.permissions.tables import words_of

OUTSIDE: Final = "mcp__"
"""What the names of tools of MCP servers begin with."""

READ_ONLY: Final = "@read-only"
"""A pattern of `bash` that stands for the table of commands that only read."""

SECRET_FILES: Final = words_of("""
    .env .env.* *.pem *.key *.p12 *.pfx *.jks *.keystore *.kdbx *.ppk id_rsa id_dsa id_ecdsa id_ed25519
    id_ecdsa_sk id_ed25519_sk .netrc _netrc .git-credentials .pypirc .pgpass .htpasswd .vault-token
    .databrickscfg **/.ssh/id_* **/.aws/credentials **/.docker/config.json **/.kube/config
    **/.config/gcloud/** **/.azure/** **/.gnupg/** **/.config/gh/hosts.yml **/.cargo/credentials
    **/.cargo/credentials.toml **/.gem/credentials **/.terraform.d/credentials.tfrc.json
""")
"""Files that hold keys and passwords; they are not read unless a rule of yours names them."""

PUBLIC_FILES: Final = (".env.example", "**/.ssh/id_*.pub")
"""Their harmless neighbours."""

_READS: Final = {
    "*": "allow",
    **dict.fromkeys(SECRET_FILES, "deny"),
    **dict.fromkeys(PUBLIC_FILES, "allow"),
}


class Standing(NamedTuple):
    """How a tool stands with the rules."""

    permission: Any
    """The built-in one, as in the settings."""
    texts: bool = False
    """Whether its patterns are plain texts, not paths."""


TOOLS: Final[Mapping[str, Standing]] = {
    "read_file": Standing(_READS),
    "list_dir": Standing("allow"),
    "glob": Standing("allow"),
    "grep": Standing(_READS),
    "edit_file": Standing("ask"),
    "write_file": Standing("ask"),
    "bash": Standing({"*": "ask", READ_ONLY: "allow"}, texts=True),
    "fetch": Standing("ask", texts=True),
    "diagnostics": Standing("allow"),
    "todo": Standing("allow"),
    "skill": Standing("allow", texts=True),
    "delegate": Standing("allow", texts=True),
    "message_agent": Standing("allow"),
    "wait_agent": Standing("allow"),
    "list_agents": Standing("allow"),
    "close_agent": Standing("allow"),
    "ask_user": Standing("allow"),
    "propose": Standing("allow"),
    "done": Standing("allow"),
    "editor_eval": Standing("ask"),
    "open_buffers": Standing("allow"),
}
"""The order is part of the prompt, and so of the provider's cache of it."""

TEXT_TOOLS: Final = frozenset(name for name, standing in TOOLS.items() if standing.texts)
"""Tools whose patterns are plain texts, not paths."""
