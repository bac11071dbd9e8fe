"""JSON-RPC: no answer is lost, no late answer hurts, and nothing odd ends the connection."""

import asyncio
import json
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tests.support.inside import answer, inside, tell

QUESTION = types.ShowMessageRequestParams(type=types.MessageType.Info, message="Well?", actions=[])


async def test_a_request_to_the_client_gets_its_answer() -> None:
    server, sent = inside()
    asking = asyncio.create_task(
        server.protocol.call(types.WINDOW_SHOW_MESSAGE_REQUEST, QUESTION, seconds=None)
    )
    await asyncio.sleep(0)
    [request] = sent.requests(types.WINDOW_SHOW_MESSAGE_REQUEST)
    answer(server, request["id"], result={"title": "Yes"})
    assert (await asking).title == "Yes"


async def test_a_late_answer_to_a_request_that_was_given_up_is_ignored() -> None:
    server, sent = inside()
    asking = asyncio.create_task(
        server.protocol.call(types.WINDOW_SHOW_MESSAGE_REQUEST, QUESTION, seconds=None)
    )
    await asyncio.sleep(0)
    [request] = sent.requests(types.WINDOW_SHOW_MESSAGE_REQUEST)
    asking.cancel()
    await asyncio.wait([asking])
    assert asking.cancelled()
    assert sent.of(types.CANCEL_REQUEST) == [{"id": request["id"]}]
    before = len(sent.messages)
    answer(server, request["id"], result={"title": "Yes"})
    answer(server, request["id"], error={"code": 1, "message": "no"})
    answer(server, "never asked", result=None)
    assert len(sent.messages) == before


@pytest.mark.parametrize("waits", [True, False])
async def test_only_behind_an_answer_that_the_client_waits_for_an_edit_is_held(waits: bool) -> None:
    """Who types asks for hovers and the like all the time: an edit would come too late each time."""
    server, sent = inside(client={"name": "emacs"})
    method = "textDocument/codeAction" if waits else "textDocument/foldingRange"
    place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    params = {"textDocument": {"uri": "file:///a.py"}, "range": place, "context": {"diagnostics": []}}
    tell(server, method, params, number=1)
    await sent.answer(1)
    edit = types.ApplyWorkspaceEditParams(edit=types.WorkspaceEdit())
    asking = asyncio.create_task(server.protocol.call(types.WORKSPACE_APPLY_EDIT, edit, seconds=None))
    await asyncio.sleep(0)
    held = not sent.requests(types.WORKSPACE_APPLY_EDIT)
    asking.cancel()
    await asyncio.wait([asking])
    server.protocol.flush()
    assert held == waits
    assert len(sent.of(types.CANCEL_REQUEST)) == (0 if held else 1), "what was not sent is not cancelled"
    assert len(sent.requests(types.WORKSPACE_APPLY_EDIT)) == (0 if held else 1)


async def test_a_bounded_request_ends_in_time() -> None:
    server, _ = inside()
    with pytest.raises(TimeoutError):
        await server.protocol.call("magent/save", {"uris": []}, seconds=0.01)


@pytest.mark.parametrize("result", [None, 5, {"applied": "perhaps"}, []])
async def test_an_answer_of_the_wrong_shape_is_an_error_not_silence(result: Any) -> None:
    server, sent = inside()
    edit = types.ApplyWorkspaceEditParams(edit=types.WorkspaceEdit())
    asking = asyncio.create_task(server.protocol.call(types.WORKSPACE_APPLY_EDIT, edit, seconds=5))
    await asyncio.sleep(0)
    [request] = sent.requests(types.WORKSPACE_APPLY_EDIT)
    answer(server, request["id"], result=result)
    try:
        found = await asking
    except JsonRpcException:
        return
    assert not isinstance(found, types.ApplyWorkspaceEditResult) or found.applied in (True, False, "perhaps")


async def test_custom_results_stay_plain_json() -> None:
    server, sent = inside()
    asking = asyncio.create_task(server.protocol.call("magent/input", {"title": "x"}, seconds=5))
    await asyncio.sleep(0)
    [request] = sent.requests("magent/input")
    answer(server, request["id"], result={"value": {"class": 1, "_x": [None]}})
    assert await asking == {"value": {"class": 1, "_x": [None]}}


async def test_requests_fail_when_the_connection_ends() -> None:
    server, _ = inside()
    asking = asyncio.create_task(server.protocol.call("magent/save", {}, seconds=None))
    await asyncio.sleep(0)
    server.protocol.give_up()
    with pytest.raises(JsonRpcException):
        await asking


@pytest.mark.parametrize(
    "body", [b"{", b"\xff\xfe", b"[" * 100_000, b"null", b"[]", b'"x"', b"{}", b'{"jsonrpc":"2.0"}']
)
async def test_what_is_no_message_is_survived(body: bytes) -> None:
    server, sent = inside()
    server.receive(body)
    assert {message["error"]["code"] for message in sent.messages if "error" in message} <= {-32700}
    tell(server, "no/such", {}, number=9)
    assert sent.messages[-1]["error"]["code"] == -32601


IDS = ([1], {"a": 1}, True)


@pytest.mark.parametrize("number", IDS, ids=repr)
async def test_an_id_of_the_wrong_type_is_refused_without_a_traceback(
    number: Any, caplog: pytest.LogCaptureFixture
) -> None:
    server, sent = inside()
    tell(server, "magent/wait", {"runId": "x"}, number=number)
    refused = sent.messages[-1]
    assert refused["id"] is None
    assert refused["error"]["code"] == -32600
    assert "data" not in refused["error"]
    tell(server, "$/cancelRequest", {"id": number})
    for more in ({"result": 1}, {"error": {"code": 1, "message": "x"}}):
        server.receive(json.dumps({"jsonrpc": "2.0", "id": number, **more}).encode())
    assert sent.messages[-1] is refused
    assert not any(record.exc_info for record in caplog.records)


@pytest.mark.parametrize("method", [5, ["x"], {"x": 1}, None, True], ids=repr)
async def test_a_method_of_the_wrong_type_is_refused_without_a_traceback(
    method: Any, caplog: pytest.LogCaptureFixture
) -> None:
    server, sent = inside()
    tell(server, method, {}, number=3)
    assert (sent.messages[-1]["id"], sent.messages[-1]["error"]["code"]) == (3, -32600)
    before = len(sent.messages)
    tell(server, method, {})
    assert len(sent.messages) == before
    assert not any(record.exc_info for record in caplog.records)


async def test_an_answer_to_what_is_no_json_has_an_id_that_is_null() -> None:
    server, sent = inside()
    server.receive(b"{")
    assert sent.messages[-1]["id"] is None


async def test_a_token_is_asked_for_before_anything_else_is_done() -> None:
    server, sent = inside(initialized=False, token="right")
    tell(server, "textDocument/didOpen", {})
    assert server._ended.is_set()
    server, sent = inside(initialized=False, token="right")
    params = {"processId": None, "rootUri": None, "capabilities": {}}
    options = {"magent": {"token": "right", "model": "x/y"}}
    tell(server, "initialize", {**params, "initializationOptions": options}, number=1)
    assert "capabilities" in sent.messages[-1]["result"]
    assert not server._ended.is_set()
    server, sent = inside(initialized=False, token="right")
    tell(server, "initialize", {**params, "initializationOptions": {"magent": {"token": "rigHt"}}}, number=1)
    assert sent.messages[-1]["error"]["code"] == -32600
    assert server._ended.is_set()
