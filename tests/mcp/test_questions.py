"""Questions of servers: simple ones reach the person, all others are declined."""

from collections.abc import Mapping
from typing import Any

import pytest

from magent_lsp.core.request import Answer, Question
from magent_lsp.mcp.questions import Ask, elicit


def person(*answers: str | None) -> tuple[list[Question], Ask]:
    asked: list[Question] = []
    left = list(answers)

    async def ask(question: Question) -> Answer | None:
        asked.append(question)
        said = left.pop(0)
        return None if said is None else Answer(values=(said,))

    return asked, ask


def form(**fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"message": "Which?", "requestedSchema": {"type": "object", "properties": fields}}


async def test_fields_are_asked_one_after_the_other() -> None:
    asked, ask = person("blue", "7", "Yes")
    fields = form(
        colour={"type": "string", "enum": ["red", "blue"]}, size={"type": "integer"}, sure={"type": "boolean"}
    )
    reply = await elicit("shop", fields, ask)
    assert reply == {"action": "accept", "content": {"colour": "blue", "size": 7, "sure": True}}
    assert asked[0].options == ("red", "blue")
    assert "shop" in asked[0].title


async def test_a_question_without_fields_is_a_yes_or_no() -> None:
    for said, action in (("Yes", "accept"), ("No", "decline"), (None, "cancel")):
        _, ask = person(said)
        assert (await elicit("shop", form(), ask))["action"] == action


async def test_an_answer_that_does_not_fit_is_none() -> None:
    _, ask = person("many")
    assert (await elicit("shop", form(size={"type": "integer"}), ask))["action"] == "decline"


@pytest.mark.parametrize(
    "params",
    [
        {"mode": "url", "url": "https://evil", "message": "go there"},
        form(a={"type": "array"}),
        form(a={"type": "object"}),
        form(**{f"f{n}": {"type": "string"} for n in range(9)}),
        {"message": "?", "requestedSchema": "odd"},
    ],
)
async def test_what_is_not_simple_is_declined_without_asking(params: dict[str, Any]) -> None:
    asked, ask = person("x")
    assert (await elicit("shop", params, ask))["action"] == "decline"
    assert asked == []


async def test_where_nobody_can_be_asked_the_server_is_told_no() -> None:
    assert (await elicit("shop", form(), None))["action"] == "decline"
