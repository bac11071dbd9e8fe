"""Results of servers as ours: texts, pictures, structured values, failures."""

from typing import Any

import pytest

from magent_lsp.core.messages import Image
from magent_lsp.mcp.answers import LARGEST_PICTURE, MOST_PICTURES, to_result


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def test_texts_and_pictures() -> None:
    picture = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    result = to_result({"content": [text("one\x1b[31m"), picture, text("two")]})
    assert result.text == "one\ntwo"
    assert result.images == (Image(media_type="image/png", data="aGk="),)
    assert not result.failed


def test_a_failure_is_a_failed_call() -> None:
    assert to_result({"content": [text("no")], "isError": True}).failed
    silent = to_result({"content": [], "isError": True})
    assert silent.failed
    assert silent.text


def test_a_structured_value_is_told_once() -> None:
    value = {"sum": 3}
    assert '"sum"' in to_result({"content": [], "structuredContent": value}).text
    assert to_result({"content": [text('{"sum": 3}')], "structuredContent": value}).text == '{"sum": 3}'
    assert "other" in to_result({"content": [text("other")], "structuredContent": value}).text


def test_resources() -> None:
    found = to_result(
        {
            "content": [
                {"type": "resource", "resource": {"uri": "a://b", "text": "inside"}},
                {"type": "resource", "resource": {"uri": "a://c", "blob": "aGk=", "mimeType": "image/gif"}},
                {"type": "resource_link", "uri": "a://d", "name": "more"},
                {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
            ]
        }
    )
    assert "inside" in found.text
    assert "a://d" in found.text
    assert "audio/wav" in found.text
    assert len(found.images) == 1


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"content": "text"},
        {"content": [None, 1, {"type": "hologram"}, {"type": "image"}, {"type": "resource"}]},
        {"content": [{"type": "image", "data": "x" * (LARGEST_PICTURE + 1), "mimeType": "image/png"}]},
        {"content": [{"type": "image", "data": "x", "mimeType": "image/svg+xml"}]},
    ],
)
def test_nothing_that_a_server_sends_breaks_a_run(answer: dict[str, Any]) -> None:
    assert to_result(answer).images == ()


def test_pictures_are_bounded() -> None:
    picture = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    assert len(to_result({"content": [picture] * 50}).images) == MOST_PICTURES
