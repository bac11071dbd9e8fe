"""What child processes find in their environment."""

from pathlib import Path

from magent_lsp.app.model_access import ModelAccess
from magent_lsp.core.config import Settings
from magent_lsp.llm.load import GUARDS, protect

PERSON = {"PATH": "/bin", "LITELLM_MODE": "DEV", "EDITOR": "emacs"}
SECRET = {"OPENAI_API_KEY": "sk-secret-value-0123456789", "MY_TOKEN": "token-value-0123456789"}


def environment(environ: dict[str, str], **bash: object) -> dict[str, str]:
    access = ModelAccess(environ, Path("/nowhere"))
    return access.child_environment(Settings.model_validate({"bash": bash}))


def test_commands_get_the_persons_environment_without_keys() -> None:
    assert environment({**PERSON, **SECRET}) == PERSON
    assert environment({**PERSON, **SECRET}, passEnv=["MY_TOKEN"]) == {
        **PERSON,
        "MY_TOKEN": SECRET["MY_TOKEN"],
    }


def test_what_guards_our_own_model_client_does_not_change_a_projects_programs() -> None:
    """A project that uses the same library would no longer read its own `.env`."""
    environ = {"PATH": "/bin"}
    access = ModelAccess(environ, Path("/nowhere"))
    protect(environ)
    assert set(GUARDS) < set(environ)
    assert access.child_environment(Settings()) == {"PATH": "/bin"}
