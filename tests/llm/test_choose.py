"""`auto` finds a model that can be used, or says in one sentence what to set."""

import asyncio
import logging
import socket
import time
from pathlib import Path

import pytest

from magent_lsp.core.config import Settings
from magent_lsp.core.errors import ModelError
from magent_lsp.llm.choose import choose, known_secrets, redact, secret_names
from magent_lsp.llm.keys import key_from_command
from magent_lsp.llm.load import Models
from magent_lsp.llm.local import LocalServer, find_local
from magent_lsp.llm.providers import PROVIDERS
from tests.support.model_server import ModelServer

PATH = {"PATH": "/usr/bin:/bin"}


async def unconfigured(settings: Settings, environ: dict[str, str]) -> str:
    with pytest.raises(ModelError) as caught:
        await choose(settings, environ, servers=())
    assert caught.value.kind == "unconfigured"
    return str(caught.value)


async def test_the_first_key_in_the_environment_decides() -> None:
    for place, provider in enumerate(PROVIDERS):
        later = {name: "other" for other in PROVIDERS[place:] for name in other.keys}
        chosen = await choose(Settings(), {**later, provider.keys[0]: " the-key \n"}, servers=())
        assert chosen.model == provider.model
        assert chosen.small_model == (provider.small or provider.model)
        assert chosen.api_key == "the-key"
        assert chosen.reason == f"{provider.keys[0]} is set"
        assert "the-key" not in repr(chosen)


async def test_an_empty_key_is_no_key() -> None:
    chosen = await choose(Settings(), {"ANTHROPIC_API_KEY": " ", "GROQ_API_KEY": "x"}, servers=())
    assert chosen.model.startswith("groq/")


async def test_every_default_is_a_model_that_the_catalogue_knows_to_use_tools(models: Models) -> None:
    for provider in PROVIDERS:
        for name in filter(None, (provider.model, provider.small)):
            known = await models.limits(name)
            assert known.tools, name
            # OpenRouter's router is in no catalogue: it picks a model itself
            assert known.known or provider.name == "openrouter", name


async def test_what_is_set_is_taken_without_asking_anybody() -> None:
    settings = Settings(model="anthropic/claude-x", small_model="openai/y", api_base="http://127.0.0.1:9")
    chosen = await choose(settings, {"OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a"}, servers=())
    assert (chosen.model, chosen.small_model, chosen.api_base, chosen.api_key) == (
        "anthropic/claude-x",
        "openai/y",
        "http://127.0.0.1:9",
        "a",
    )
    script = await choose(Settings(model="scripted:x.yaml", api_key_command="false"), {}, servers=())
    assert (script.model, script.api_key) == ("scripted:x.yaml", None)


async def test_nothing_at_all_says_what_to_set() -> None:
    told = await unconfigured(Settings(), {})
    assert "ANTHROPIC_API_KEY" in told
    assert "Ollama" in told
    assert "\n" not in told


async def test_a_local_server_is_found_and_its_best_model_taken() -> None:
    names = ("nomic-embed-text:latest", "llama3.2:3b", "qwen2.5-coder:7b")
    with ModelServer(models=names) as server, socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{unheard.getsockname()[1]}"
        servers = (
            LocalServer(title="Nobody", url=closed, kind="ollama"),
            LocalServer(title="Ollama", url=server.url, kind="ollama"),
            LocalServer(title="vLLM", url=server.url, kind="openai"),
        )
        chosen = await choose(Settings(), {}, servers=servers)
        assert (chosen.model, chosen.api_base) == ("ollama_chat/qwen2.5-coder:7b", server.url)
        assert "Ollama" in chosen.reason
        chosen = await choose(Settings(), {}, servers=servers[2:])
        assert (chosen.model, chosen.api_base) == ("openai/qwen2.5-coder:7b", f"{server.url}/v1")
        assert {request.path for request in server.all_requests} == {"/api/tags", "/v1/models"}


async def test_local_servers_are_not_asked_while_there_is_a_key() -> None:
    with ModelServer() as server:
        servers = (LocalServer(title="Ollama", url=server.url, kind="ollama"),)
        await choose(Settings(), {"OPENAI_API_KEY": "x"}, servers=servers)
        assert server.all_requests == []


async def test_what_answers_but_is_no_model_server_is_passed_over() -> None:
    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b'HTTP/1.1 200 OK\r\ncontent-length: 13\r\nconnection: close\r\n\r\n{"data":"hi"}')
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        await writer.wait_closed()

    servers = [await asyncio.start_server(handler, "127.0.0.1", 0) for handler in (other, silent)]
    places = [
        LocalServer(title="x", url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", kind="openai")
        for server in servers
    ]
    begun = time.monotonic()
    assert await find_local([*places, *places]) is None
    assert time.monotonic() - begun < 5, "they are asked at once, and not for long"
    for server in servers:
        server.close()
        await server.wait_closed()


async def test_auto_with_an_address_asks_that_server_what_it_has() -> None:
    with ModelServer(models=("my-model",)) as server:
        for base in (server.url, f"{server.url}/v1", f"{server.url}/v1/"):
            chosen = await choose(Settings(api_base=base), {"ANTHROPIC_API_KEY": "x"}, servers=())
            assert (chosen.model, chosen.api_base) == ("openai/my-model", f"{server.url}/v1")
    assert "apiBase" in await unconfigured(Settings(api_base=server.url), {})


async def test_a_key_command_runs_once_and_its_key_is_never_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    counter = tmp_path / "runs"
    settings = Settings(
        model="openai/x", api_key_command=f"echo run >> {counter}; echo; echo the-secret-key; echo more"
    )
    keys: dict[str, str] = {}
    for _ in range(2):
        assert (await choose(settings, PATH, keys=keys, servers=())).api_key == "the-secret-key"
    assert counter.read_text() == "run\n"
    assert "the-secret-key" not in caplog.text


async def test_a_key_command_without_a_model_asks_for_one() -> None:
    told = await unconfigured(Settings(api_key_command="echo x"), PATH)
    assert "`model`" in told


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("echo secret-on-stdout; echo no such entry >&2; exit 3", "code 3: no such entry"),
        ("true", "printed nothing"),
        ("no-such-command-anywhere", "code 127"),
    ],
)
async def test_a_key_command_that_fails_says_how(command: str, why: str) -> None:
    with pytest.raises(ModelError, match=why) as caught:
        await key_from_command(command, PATH)
    assert caught.value.kind == "unconfigured"
    assert "secret-on-stdout" not in str(caught.value)


async def test_a_key_command_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    with pytest.raises(ModelError, match="did not end"):
        await key_from_command(f"sleep 60 & echo $! > {pid}; wait", PATH, seconds=0.3)
    stat = Path(f"/proc/{pid.read_text().strip()}/stat")
    for _ in range(50):
        if not stat.exists() or stat.read_text().split()[2] == "Z":
            break
        await asyncio.sleep(0.02)
    else:
        pytest.fail("the child of the command is still running")


def test_secrets_of_the_environment_are_known_and_taken_out() -> None:
    environ = {
        "ANTHROPIC_API_KEY": "sk-ant-123456",
        "AWS_SECRET_ACCESS_KEY": "aws-secret-1",
        "GITHUB_TOKEN": "ghp-token-1",
        "DB_PASSWORD": "hunter2!",
        "MY_SECRET_THING": "thing-secret",
        "HOME": "/home/me",
        "PATH": "/usr/bin",
        "SSH_AUTH_SOCK": "/tmp/agent.sock",
        "KEYBOARD": "qwerty-layout",
        "TOKENIZERS_PARALLELISM": "false",
        "SHORT_KEY": "abc",
        "USE_AUTH": "enabled",
        "DATABASE_URL": "postgres://me:db-password@db.example:5432/app",
        "HTTPS_PROXY": "http://me:proxy-password@proxy.example",
    }
    assert secret_names(environ) == {
        "ANTHROPIC_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "DB_PASSWORD",
        "MY_SECRET_THING",
        "SHORT_KEY",
        "USE_AUTH",
        "DATABASE_URL",
    }
    secrets = known_secrets(environ)
    assert {"abc", "enabled"}.isdisjoint(secrets), "these would be taken out of ordinary text"
    assert {"db-password", "proxy-password"} <= secrets
    told = redact("key sk-ant-123456 and hunter2! at /home/me, sk-proj-abcdefghijklmnopqrstuvwx", secrets)
    assert told == "key [secret] and [secret] at /home/me, [secret]"


SECRET_NAMES = """
    PGPASSWORD MYSQL_PWD SSHPASS RSYNC_PASSWORD REDISCLI_AUTH npm_config__auth npm_config__authToken
    npm_config_//registry.npmjs.org/:_authToken NODE_AUTH_TOKEN NGROK_AUTHTOKEN YARN_NPM_AUTH_IDENT
    DOCKER_AUTH_CONFIG COMPOSER_AUTH AZURE_STORAGE_CONNECTION_STRING ConnectionStrings__Default
    SQLCONNSTR_main AZURE_STORAGE_SAS AZURE_CLIENT_SECRET AWS_SESSION_TOKEN TF_TOKEN_app_terraform_io
    TF_VAR_db_password POETRY_PYPI_TOKEN_PYPI BUNDLE_RUBYGEMS__PKG__GITHUB__COM CI_JOB_JWT CI_JOB_JWT_V2
    DEPLOY_CREDS DEPLOY_PSW SLACK_WEBHOOK_URL GCP_KEY_JSON SIGNING_KEY_BASE64 FIREBASE_SERVICE_ACCOUNT
    OTEL_EXPORTER_OTLP_HEADERS VSS_NUGET_EXTERNAL_FEED_ENDPOINTS SECRET_KEY_BASE DBPASS GH_PAT SENTRY_DSN
"""


@pytest.mark.parametrize("name", SECRET_NAMES.split())
def test_well_known_names_of_secrets_are_known(name: str) -> None:
    assert secret_names({name: "value"}) == {name}


OTHER_NAMES = """
    PWD OLDPWD INIT_CWD PATH HOME GIT_ASKPASS SSH_ASKPASS SSH_AUTH_SOCK COMPASS BYPASS MONKEY MAX_TOKENS
    KEYBOARD PGPASSFILE TOKENIZERS_PARALLELISM AUTHOR GIT_AUTHOR_NAME KUBECONFIG PASS KEY DSNX XDG_SEAT_PATH
"""


@pytest.mark.parametrize("name", OTHER_NAMES.split())
def test_a_command_keeps_what_is_no_secret(name: str) -> None:
    assert secret_names({name: "value"}) == frozenset()


def test_a_secret_that_holds_another_is_taken_out_whole() -> None:
    assert redact("abcdef-ghijkl", {"abcdef", "abcdef-ghijkl", ""}) == "[secret]"


@pytest.mark.parametrize("model", ["openai/x", "auto"])
@pytest.mark.parametrize(
    "address",
    [
        "http://user:hunter22?x@127.0.0.1:9/v1",
        "http://user:hunter22/x@127.0.0.1:9/v1",
        "user:hunter22@127.0.0.1:9/v1",
        "127.0.0.1:9/v1?key=hunter22",
        "http://user:hunter22@[::1",
        "http://user:hunter22@127.0.0.1:99999/",
        "http://user:hunter22@127.0.0.1:0/",
        "http://user:hunter22@/v1",
        "http://user:12/hunter22@127.0.0.1:9/v1",
        "http://user:12#hunter22@127.0.0.1:9/v1",
    ],
)
async def test_what_is_no_address_is_refused_before_a_client_says_pieces_of_it(
    model: str, address: str
) -> None:
    with pytest.raises(ModelError) as caught:
        await choose(Settings(model=model, api_base=address), {}, servers=())
    assert caught.value.kind == "bad_request", "asking again would not help"
    assert "apiBase" in str(caught.value)
    assert "hunter22" not in str(caught.value)


async def test_a_password_in_an_address_is_in_no_log() -> None:
    chosen = await choose(Settings(model="openai/x", api_base="http://u:hunter22@127.0.0.1:9/v1"), {})
    assert chosen.api_base == "http://u:hunter22@127.0.0.1:9/v1"
    assert "hunter22" not in repr(chosen)
