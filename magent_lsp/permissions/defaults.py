"""The built-in rules, on which all others stand."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from magent_lsp.permissions.rules import READ_ONLY, Layer, Source, parse_permission
from magent_lsp.permissions.tables import words_of

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

DEFAULTS: Final[Mapping[str, Any]] = {
    "read_file": _READS,
    "grep": _READS,
    "list_dir": "allow",
    "glob": "allow",
    "diagnostics": "allow",
    "edit_file": "ask",
    "write_file": "ask",
    "bash": {"*": "ask", READ_ONLY: "allow"},
    "fetch": "ask",
    "todo": "allow",
    "skill": "allow",
    "delegate": "allow",
    "message_agent": "allow",
    "wait_agent": "allow",
    "list_agents": "allow",
    "close_agent": "allow",
    "ask_user": "allow",
    "propose": "allow",
    "done": "allow",
    "editor_eval": "ask",
    "mcp__*": "ask",
}

SOURCE: Final = Source(name="built-in defaults")


@lru_cache(maxsize=1)
def default_layer() -> Layer:
    """The layer below all others."""
    rules, _ = parse_permission(DEFAULTS, SOURCE)
    return Layer(name="default", rules=rules)
