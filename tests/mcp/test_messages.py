"""What servers write, as messages: nothing that came is waited for."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCResponse

from magent_lsp.mcp.messages import Sieve, read_message

HEAD = b'{"jsonrpc":"2.0","id":3,'
NEWS = b'{"jsonrpc":"2.0","method":"notifications/%s","params":{"progressToken":%d,"progress":1}}'


@pytest.mark.parametrize(
    ("line", "result"),
    [
        (HEAD + b'"result":{"a":"x \\ud800 y"}}', {"a": "x \N{REPLACEMENT CHARACTER} y"}),
        (
            HEAD + b'"result":{"a":"\\ud83d\\ude00 \\udfff"}}',
            {"a": "\N{GRINNING FACE} \N{REPLACEMENT CHARACTER}"},
        ),
        (HEAD + b'"result":{"a":"\xff"}}', {"a": "\N{REPLACEMENT CHARACTER}"}),
        (b'{"id":3.0,"result":{}}', {}),
    ],
)
def test_what_is_nearly_a_result_is_one(line: bytes, result: object) -> None:
    message = read_message(line)
    assert isinstance(message, JSONRPCResponse)
    assert (message.id, message.result) == (3, result)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (HEAD + b'"result":[1]}', "its result is [1], which is no object"),
        (HEAD + b'"result":null}', "its result is null"),
        (HEAD + b'"error":{"code":"x"}}', '{"code": "x"}'),
        (HEAD + b'"error":{"code":"x","message":"half \\ud800"}}', "half \N{REPLACEMENT CHARACTER}"),
        (HEAD + b'"error":"boom"}', "boom"),
        (HEAD + b'"result":{"a":"cut of', "Unterminated string"),
        (b'{"jsonrpc":"2.0","result":{\'a\':1},"id":3}', "Expecting property name"),
        (HEAD + b'"result":{"a":' + b"[" * 20_000 + b"]" * 20_000 + b"}}", "it nests too deep"),
        (HEAD + b'"result":{"a":' + b"[" * 400 + b'"\\ud800"' + b"]" * 400 + b"}}", "it nests too deep"),
    ],
)
def test_an_answer_that_cannot_be_read_fails_the_call_that_it_names(line: bytes, words: str) -> None:
    message = read_message(line)
    assert isinstance(message, JSONRPCError)
    assert message.id == 3
    assert words in message.error.message


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"hello",
        b"{}",
        b'{"half":',
        b"[1]",
        b'{"id":true,"result":[]}',
        HEAD + b'"method":"x","params":[1]}',
    ],
)
def test_anything_else_is_no_message(line: bytes) -> None:
    assert read_message(line) is None


@given(st.binary(max_size=60), st.sampled_from([b"", HEAD, HEAD + b'"result":', HEAD + b'"error":']))
def test_no_line_is_too_odd(line: bytes, head: bytes) -> None:
    message = read_message(head + line)
    if message is not None:
        json.dumps(message.model_dump(mode="json"), ensure_ascii=False).encode()


def test_a_flood_of_news_is_thinned_out() -> None:
    now = 0.0
    sieve = Sieve(lambda: now)
    first, second, log = (
        read_message(NEWS % each) for each in ((b"progress", 1), (b"progress", 2), (b"message", 1))
    )
    assert isinstance(first, JSONRPCNotification)
    assert second
    assert log
    assert [sieve.passes(first), sieve.passes(first), sieve.passes(second), sieve.passes(log)] == [
        True,
        False,
        True,
        True,
    ], "one call does not take the news of another"
    now = 0.1
    assert sieve.passes(first)


def test_what_changes_the_tools_is_always_heard() -> None:
    sieve = Sieve(lambda: 0.0)
    change = read_message(b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
    answer = read_message(HEAD + b'"result":{}}')
    assert change
    assert answer
    assert all(sieve.passes(each) for each in (change, change, answer, answer))
