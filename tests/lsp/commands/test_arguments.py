"""Arguments of commands: every command is known, checked and named."""

from typing import Any

import pytest

from magent_lsp.core.errors import CallerError
from magent_lsp.lsp.commands.arguments import PromptArguments, check, one_object
from magent_lsp.lsp.commands.names import COMMANDS
from magent_lsp.lsp.commands.registry import COMMANDS as REGISTERED


def test_all_advertised_commands_exist() -> None:
    assert set(REGISTERED) == set(COMMANDS)
    assert len(COMMANDS) == len(set(COMMANDS))


@pytest.mark.parametrize("arguments", [None, [], [None], [{}], ["{}"], ["null"], [[]], (None, None)])
def test_nothing_is_an_empty_object(arguments: Any) -> None:
    assert one_object("magent.x", arguments) == {}


@pytest.mark.parametrize("arguments", [[1], [True], ["x"], ["[1]"], [[1]], [{}, {}], ['{"a": 1}', "b"]])
def test_what_is_no_object_is_refused(arguments: Any) -> None:
    with pytest.raises(CallerError, match=r"^magent\.x: expected "):
        one_object("magent.x", arguments)


def test_a_string_of_json_is_read() -> None:
    assert one_object("magent.x", ['{"prompt": "hi"}']) == {"prompt": "hi"}


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ({}, "magent.prompt: 'prompt' is missing."),
        ({"prompt": ""}, "magent.prompt: 'prompt' is empty."),
        ({"prompt": None}, "magent.prompt: 'prompt' is missing."),
        ({"prompt": 5}, "magent.prompt: 'prompt': input should be a valid string, got 5."),
        (
            {"prompt": "x", "session_id": "y"},
            "magent.prompt: unknown field 'session_id' (known: 'prompt', 'agent', 'sessionId', 'uri', "
            "'range', 'diagnostics', 'scope', 'model').",
        ),
        (
            {"prompt": "x", "uri": "file:///a", "scope": "region"},
            "magent.prompt: 'range' is missing: the scope 'region' means its whole lines.",
        ),
    ],
)
def test_sentences_name_the_field(value: Any, sentence: str) -> None:
    with pytest.raises(CallerError) as refused:
        check("magent.prompt", PromptArguments, value)
    assert str(refused.value) == sentence


def test_null_means_absent() -> None:
    checked = check("magent.prompt", PromptArguments, {"prompt": "x", "agent": None, "range": None})
    assert checked.agent is None
    assert checked.range is None
