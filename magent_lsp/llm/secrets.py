"""Which environment variables are secret; for redaction, and for the environment of child processes."""

import re
from collections.abc import Iterable, Mapping

_SECRET = re.compile(
    r"(?:^|_)(?:ACCESS_KEY(?:_ID)?|SECRET(?:_KEY)?|KEY|PASS|PW|PSW|CREDENTIALS?|CREDS|AUTH|AUTH_(?:CONFIG|IDENT)"
    r"|PAT|JWT|SAS|COOKIES?|DSN|HEADERS|WEBHOOK(?:_URL)?|SERVICE_ACCOUNT)(?:_(?:\d+|V\d+|BASE64|B64|JSON|PEM))?$"
    # also without a sign before: PGPASSWORD, npm_config__authToken, NGROK_AUTHTOKEN
    r"|(?:API_?KEY|(?:ACCESS|ACCOUNT|PRIVATE|SECRET|SIGNING)KEY|SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE|SSHPASS"
    r"|(?:DB|DATABASE|SQL|PG|MONGO|REDIS|LDAP|SMTP|MAIL|FTP|ROOT|USER|ADMIN)_?(?:PASS|PWD)"
    r"|CONNECTION_?STRINGS?|CONN_?STR)(?:_(?:\d+|V\d+|BASE64|B64|JSON|PEM))?$"
    r"|_SECRET_|^SECRET_|^TF_TOKEN_|^POETRY_PYPI_TOKEN_|^BUNDLE_\w+__\w+$|^\w*CONNSTR_|^CONNECTIONSTRINGS__"
    r"|^NUGETPACKAGESOURCECREDENTIALS_|^VSS_NUGET_EXTERNAL_FEED_ENDPOINTS$",
    re.IGNORECASE,
)
_HARMLESS = frozenset({"PASS", "KEY", "SSH_AUTH_SOCK", "XDG_SESSION_COOKIE"})
_SHORTEST = 6
_COMMON = frozenset({"enabled", "disabled", "default", "required", "optional"})
_PASSWORD = re.compile(r"\w://[^/\s:@]*:(?P<password>[^/\s@]+)@")
_LOOKS_SECRET = re.compile(r"\b(?:sk|pk|xai|gsk|ghp|gho|github_pat|AIza)[-_]?[A-Za-z0-9_-]{20,}")


def secret_names(environ: Mapping[str, str]) -> frozenset[str]:
    """The names of variables that hold keys, tokens or passwords, such as within a URL."""
    return frozenset(
        name for name, value in environ.items() if _is_secret(name) or _holds_password(name, value)
    )


def known_secrets(environ: Mapping[str, str]) -> frozenset[str]:
    """The values of those variables, without such as are too short or too common to be secret."""
    named = {value.strip() for name, value in environ.items() if _is_secret(name)}
    in_urls = {match["password"] for value in environ.values() for match in _PASSWORD.finditer(value)}
    return frozenset(
        value for value in named | in_urls if len(value) >= _SHORTEST and value.lower() not in _COMMON
    )


def _is_secret(name: str) -> bool:
    return name not in _HARMLESS and bool(_SECRET.search(name))


def _holds_password(name: str, value: str) -> bool:
    # commands need their proxy; its password is taken out of texts all the same
    return not name.lower().endswith("_proxy") and bool(_PASSWORD.search(value))


def redact(text: str, secrets: Iterable[str]) -> str:
    """The text without those secrets, and without what looks like an API key."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, "[secret]")
    return _LOOKS_SECRET.sub("[secret]", text)
