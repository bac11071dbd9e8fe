"""The scripted server is itself what the tests of others stand on."""

import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.support.model_server import ModelServer, Reply, Tokens, call

ROOT = Path(__file__).parents[2]
ASK = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": False}


def test_answers_that_are_not_streamed(server: ModelServer) -> None:
    for _ in range(3):
        server.reply("Hello.", calls=[call("todo", items=[])], usage=Tokens(10, 2))
    with httpx.Client(base_url=server.url) as client:
        openai = client.post("/v1/chat/completions", json=ASK).json()
        anthropic = client.post("/v1/messages", json=ASK).json()
        ollama = client.post("/api/chat", json=ASK).json()
    message = openai["choices"][0]["message"]
    assert (message["content"], message["tool_calls"][0]["function"]["name"]) == ("Hello.", "todo")
    assert openai["usage"]["total_tokens"] == 12
    assert [block["type"] for block in anthropic["content"]] == ["text", "tool_use"]
    assert anthropic["stop_reason"] == "tool_use"
    assert ollama["message"]["tool_calls"][0]["function"]["arguments"] == {"items": []}
    assert ollama["done"] is True
    assert [request.last for request in server.requests] == ["hi"] * 3


def test_a_function_answers_when_the_queue_is_empty(server: ModelServer) -> None:
    server.respond = lambda request: Reply(text=request.last.upper())
    answer = httpx.post(f"{server.url}/v1/chat/completions", json=ASK).json()
    assert answer["choices"][0]["message"]["content"] == "HI"


def test_a_script_that_is_over_says_so(server: ModelServer) -> None:
    answer = httpx.post(f"{server.url}/v1/messages", json=ASK)
    assert answer.status_code == 500
    assert "script" in answer.json()["error"]["message"]


def test_waiting_for_requests_that_do_not_come_fails(server: ModelServer) -> None:
    with pytest.raises(AssertionError, match="0 requests"):
        server.wait_requests(1, seconds=0.05)


def test_as_a_process(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"text": "one"}, {"fault": "status", "status": 418}]))
    command = [sys.executable, "-m", "tests.support.model_server", "--script", str(script)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        with httpx.Client(base_url=url) as client:
            more = [{"text": "three", "calls": [{"name": "todo", "arguments": {}}], "usage": [5, 6, 0]}]
            assert client.post("/_queue", json=more).json() == {"queued": 3}
            answers = [client.post("/v1/chat/completions", json=ASK) for _ in range(3)]
            assert [answer.status_code for answer in answers] == [200, 418, 200]
            assert answers[2].json()["usage"]["prompt_tokens"] == 5
            assert [item["json"]["model"] for item in client.get("/_requests").json()] == ["m"] * 3
        process.communicate(timeout=10)
        assert process.returncode == 0
