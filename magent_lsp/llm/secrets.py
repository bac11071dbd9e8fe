"""Which environment variables are secret; for redaction, and for the environment of child processes."""

import re
from collections.abc import Iterable, Mapping

_SECRET = re.compile(
    r"(?:^|_)(?:API_?KEY|ACCESS_KEY(?:_ID)?|SECRET(?:_KEY)?|KEY|TOKEN|PASSWORD|PASSWD|PASS|PASSPHRASE|CREDENTIALS?"
    r"|AUTH|PAT|COOKIE|DSN)(?:_\d+)?$|_SECRET_|^SECRET_",
    re.IGNORECASE,
)
_HARMLESS = frozenset({"PASS", "KEY", "SSH_AUTH_SOCK", "XDG_SESSION_COOKIE"})
_SHORTEST = 6
_LOOKS_SECRET = re.compile(r"\b(?:sk|pk|xai|gsk|ghp|gho|github_pat|AIza)[-_]?[A-Za-z0-9_-]{20,}")


def secret_names(environ: Mapping[str, str]) -> frozenset[str]:
    """The names of variables that hold keys, tokens or passwords."""
    return frozenset(name for name in environ if _SECRET.search(name) and name not in _HARMLESS)


def known_secrets(environ: Mapping[str, str]) -> frozenset[str]:
    """The values of those variables, without such as are too short to be secret."""
    values = (environ[name] for name in secret_names(environ))
    return frozenset(value for value in values if len(value) >= _SHORTEST)


def redact(text: str, secrets: Iterable[str]) -> str:
    """The text without those secrets, and without what looks like an API key."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, "[secret]")
    return _LOOKS_SECRET.sub("[secret]", text)
