"""Recorded models say what their file says, or which line of it is wrong."""

import re
import time
from pathlib import Path
from typing import Any, get_args

import pytest

from magent_lsp.core.errors import ConfigError, ModelError, ModelErrorKind
from magent_lsp.core.messages import (
    AssistantMessage,
    Message,
    ReasoningDelta,
    StreamItem,
    TextDelta,
    ToolMessage,
    UserMessage,
)
from magent_lsp.core.ports import ModelSettings
from magent_lsp.llm.scripted import Reply, Script, When, read_script
from tests.support.talk import TOOLS


def script(tmp_path: Path, text: str, name: str = "script.yaml") -> Script:
    path = tmp_path / name
    path.write_text(text)
    return read_script(path)


async def ask(model: Script, *messages: Message | str, tools: Any = TOOLS) -> list[StreamItem]:
    said = [UserMessage(id="u", text=item) if isinstance(item, str) else item for item in messages]
    return [item async for item in model.stream(said, tools, ModelSettings(model="scripted:script.yaml"))]


async def text(model: Script, *messages: Message | str, tools: Any = TOOLS) -> str:
    last = (await ask(model, *messages, tools=tools))[-1]
    assert isinstance(last, AssistantMessage)
    return last.text


def result(content: str) -> ToolMessage:
    return ToolMessage(id="t", call_id="c", name="bash", text=content)


async def test_a_reply_is_streamed_word_by_word(tmp_path: Path) -> None:
    model = script(tmp_path, "- text: Hello you there.\n  reasoning: hm\n")
    *deltas, message = await ask(model, "hi")
    assert deltas == [
        ReasoningDelta(text="hm"),
        TextDelta(text="Hello "),
        TextDelta(text="you "),
        TextDelta(text="there."),
    ]
    assert isinstance(message, AssistantMessage)
    assert (message.text, message.finish, message.model) == (
        "Hello you there.",
        "stop",
        "scripted:script.yaml",
    )
    assert message.usage.estimated
    assert message.usage.cost_usd == 0


async def test_calls_have_ids_and_json(tmp_path: Path) -> None:
    model = script(
        tmp_path,
        """
replies:
  - text: I look.
    calls:
      - tool: read_file
        arguments: {path: a.py, limit: 3}
      - {tool: todo}
      - {tool: read_file, arguments: '{"path": "cut'}
    usage: {input: 10, output: 5, cached: 8, cost: 0.25}
""",
    )
    message = (await ask(model, "hi"))[-1]
    assert isinstance(message, AssistantMessage)
    assert [(call.name, call.arguments) for call in message.tool_calls] == [
        ("read_file", '{"path": "a.py", "limit": 3}'),
        ("todo", "{}"),
        ("read_file", '{"path": "cut'),
    ]
    assert len({call.id for call in message.tool_calls}) == 3
    assert message.finish == "tool_calls"
    assert (message.usage.input_tokens, message.usage.cached_tokens, message.usage.cost_usd) == (10, 8, 0.25)


async def test_replies_come_in_order_and_end_with_a_sentence(tmp_path: Path) -> None:
    model = script(tmp_path, "- text: one\n- text: two\n")
    assert [await text(model, "a"), await text(model, "b")] == ["one", "two"]
    with pytest.raises(ModelError, match="used up") as caught:
        await ask(model, "c")
    assert caught.value.kind == "unconfigured"
    assert "script.yaml" in str(caught.value)


async def test_what_tools_did_is_past_once_a_person_has_spoken(tmp_path: Path) -> None:
    model = script(
        tmp_path, "- {when: {tool: rejected}, text: 'Then not.', repeat: true}\n- {text: Hm., repeat: true}\n"
    )
    asked: list[Message | str] = ["mend it", AssistantMessage(id="a", text="I do."), result("rejected")]
    assert await text(model, *asked) == "Then not."
    assert await text(model, *asked, UserMessage(id="n", text="a note", synthetic=True)) == "Then not."
    assert await text(model, *asked, "tell me a story") == "Hm."


async def test_a_demo_can_branch(tmp_path: Path) -> None:
    model = script(
        tmp_path,
        """
- when: {tool: 'exit code: [1-9]'}
  text: It failed.
- when: {tool: passed}
  text: It passed.
- when: {user: '(?i)^hello', turn: 1}
  text: Hello!
  repeat: true
- when: {tools: false}
  text: A title
- text: Something else.
""",
    )
    assert await text(model, "hello there") == "Hello!"
    assert await text(model, "Hello again") == "Hello!"
    asked = AssistantMessage(id="m")
    assert await text(model, "run", asked, result("ok"), result("exit code: 2")) == "It failed."
    assert await text(model, "run", asked, result("3 passed")) == "It passed."
    assert await text(model, "hello", asked, "hello") == "Something else."
    assert await text(model, "x", tools=()) == "A title"
    with pytest.raises(ModelError, match="no reply that is left matches"):
        await ask(model, "x")


async def test_old_results_and_notes_of_the_harness_do_not_match(tmp_path: Path) -> None:
    model = script(
        tmp_path, "- when: {tool: passed}\n  text: a\n- when: {user: nudge}\n  text: b\n- text: c\n"
    )
    note = UserMessage(id="n", text="a nudge", synthetic=True)
    assert await text(model, "x", result("passed"), AssistantMessage(id="m"), "next", note) == "c"


async def test_providers_can_fail(tmp_path: Path) -> None:
    model = script(
        tmp_path,
        "- error: {kind: rate_limit, message: wait a bit, status: 429, retry_after: 3}\n"
        "- text: half\n  error: {kind: cut}\n",
    )
    with pytest.raises(ModelError, match="wait a bit") as caught:
        await ask(model, "x")
    assert (caught.value.kind, caught.value.status, caught.value.retry_after) == ("rate_limit", 429, 3)
    stream = model.stream([], (), ModelSettings(model="scripted:x"))
    assert await anext(stream) == TextDelta(text="half")
    with pytest.raises(ModelError):
        await anext(stream)


async def test_delays_are_kept(tmp_path: Path) -> None:
    model = script(tmp_path, "- {text: [a, b], delay: 0.02, first_delay: 0.03}\n")
    begun = time.monotonic()
    await ask(model, "x")
    assert time.monotonic() - begun >= 0.07


async def test_json_with_tabs_is_fine(tmp_path: Path) -> None:
    model = script(tmp_path, '[\n\t{"text": "Hello"}\n]', name="script.json")
    assert await text(model, "x") == "Hello"


@pytest.mark.parametrize(
    ("written", "line", "why"),
    [
        ("- text: a\n- txt: b\n", 2, "txt"),
        ("- text: a\n\n- text: b\n  calls:\n    - name: x\n", 5, "calls"),
        ("- text: a\n  when:\n    user: '['\n", 3, "regular expression"),
        ("replies:\n  - text: a\n    delay: -1\n", 3, "delay"),
        ("- text: a\n  error: {kind: nonsense}\n", 2, "kind"),
        ("- text: [a\n", 2, "not YAML"),
        ("hello", 1, "dictionary"),
        ("", None, "dictionary"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(
    tmp_path: Path, written: str, line: int | None, why: str
) -> None:
    with pytest.raises(ConfigError, match=why) as caught:
        script(tmp_path, written)
    assert caught.value.path == tmp_path / "script.yaml"
    assert caught.value.line == line


def test_json_that_is_broken_names_its_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not JSON") as caught:
        script(tmp_path, '[\n{"text": "a",}\n]', name="script.json")
    assert caught.value.line == 2


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_script(tmp_path / "none.yaml")


DOCS = Path(__file__).parents[2] / "docs" / "reference" / "scripted-models.md"


def test_the_documentation_shows_a_script_that_works_and_all_keys(tmp_path: Path) -> None:
    text = DOCS.read_text()
    example = text.split("```yaml\n")[3].split("```")[0]
    script(tmp_path, example)
    replies, conditions = (
        set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE))
        for table in text.split("| key of a reply")[1].split("| key of `when`")
    )
    assert replies == set(Reply.model_fields)
    assert conditions == set(When.model_fields)
    assert set(re.findall(r"`(\w+)`", text.split("one of")[1].split(".")[0])) == set(get_args(ModelErrorKind))
