"""Events on the wire: the client's own URIs and UTF-16."""

from magent_lsp.core.document import Position, Span
from magent_lsp.core.events import EditRecord, Envelope, RunFinished, RunStarted
from magent_lsp.lsp.protocol import event_params, finished_event


def test_ranges_are_utf_16_and_uris_are_the_clients() -> None:
    event = RunStarted(
        agent="build",
        model="x/y",
        prompt="p",
        uri="file:///a%20b.py",
        range=Span(Position(0, 1), Position(0, 3)),
    )
    envelope = Envelope(run_id="r", session_id="s", seq=1, time="2026-01-01T00:00:00Z", event=event)
    params = event_params(envelope, lambda uri: "file:///a b.py", lambda uri: "🦄🦄x\n")
    assert params["event"]["uri"] == "file:///a b.py"
    assert params["event"]["range"] == {
        "start": {"line": 0, "character": 2},
        "end": {"line": 0, "character": 5},
    }
    assert params["runId"] == "r"
    assert params["event"]["type"] == "run_started"


def test_outcomes_name_the_clients_uris() -> None:
    event = RunFinished(
        stop_reason="end_turn", text="", edits=(EditRecord(uri="file:///x", outcome="applied"),)
    )
    found = finished_event(event, str.upper)
    assert found["edits"] == [{"uri": "FILE:///X", "outcome": "applied"}]
    assert found["type"] == "run_finished"
