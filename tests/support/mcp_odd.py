"""An MCP server by hand, which does what real ones do at times: it needs no library and starts at once.

    python mcp_odd.py [WORD…]

`mute`: answers nothing. `noisy`: prints what is no message. `many`: 500 tools. `modern`: knows no handshake.
`stubborn`: stays when its input ends, and at SIGTERM. `leaver`: ends at once. `odd`: tools that cannot be
offered. `coy`: shows its tools once. `restless`: changes them all the time. `pids=FILE`: writes the number of
each process into the file. `cancelled=FILE`: writes there when a call is cancelled. `silent`: does not say
when its tools change. `raw`: the text of a call to `echo` is what it writes, with `ID` for the call's number.
"""

import json
import os
import signal
import subprocess
import sys
import time

WORDS = {word.partition("=")[0]: word.partition("=")[2] for word in sys.argv[1:]}
OBJECT = {"type": "object", "properties": {"text": {"type": "string"}}}
VERSION = {"description": "Says it again."}


def send(message):
    """Write a message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tools():
    """What there is."""
    found = [
        {"name": "echo", "inputSchema": OBJECT, **VERSION},
        {"name": "crash", "inputSchema": OBJECT, "description": "Ends the server."},
        {"name": "hang", "inputSchema": OBJECT, "description": "Never answers."},
        {"name": "change", "inputSchema": OBJECT, "description": "Changes echo."},
        {"name": "sleep", "inputSchema": OBJECT, "description": "Sleeps, and hears nothing meanwhile."},
        {"name": "flood", "inputSchema": OBJECT, "description": "Says more than anybody reads."},
        {"name": "look", "inputSchema": OBJECT, "annotations": {"readOnlyHint": True}},
    ]
    if "many" in WORDS:
        found = [
            {"name": f"tool_{number}", "inputSchema": OBJECT, "description": "d" * 5000}
            for number in range(500)
        ]
    if "odd" in WORDS:
        found += [
            {"name": "text", "inputSchema": {"type": "string"}},
            {
                "name": "huge",
                "inputSchema": {"type": "object", "properties": {"a": {"enum": ["x" * 30_000]}}},
            },
            {"inputSchema": OBJECT},
            {"name": "forms", "inputSchema": {**OBJECT, "anyOf": 5, "oneOf": True, "allOf": {"a": 1}}},
            {"name": "röter/weg", "inputSchema": {"oneOf": [{"properties": {"a": {}}, "required": ["a"]}]}},
        ]
    return found


def call(number, name, arguments):
    """Answer a call, or do something else."""
    if name == "crash":
        print("about to break", file=sys.stderr, flush=True)
        os._exit(3)
    if name == "hang":
        return
    if name == "sleep":
        print("asleep", file=sys.stderr, flush=True)
        time.sleep(float(arguments["text"]))
    if name == "flood":
        flood(number, arguments["text"])
    if name == "echo" and "raw" in WORDS:
        sys.stdout.write(arguments["text"].replace("ID", json.dumps(number)) + "\n")
        sys.stdout.flush()
        return
    if name == "change":
        VERSION["description"] = "Says it to everybody."
        send({"method": "notifications/tools/list_changed"})
    text = json.dumps(dict(os.environ)) if name == "look" else arguments.get("text", name)
    more = {"resultType": "complete"} if "modern" in WORDS else {}
    send({"id": number, "result": {"content": [{"type": "text", "text": text}], **more}})


def flood(number, kind):
    """Write a lot: error output in one line or in many, news of how far a call is, or a line."""
    if kind == "line of errors":
        os.write(2, b"z s3cr3t-value" * 1_500_000 + b"\n")
    elif kind == "lines of errors":
        os.write(2, b"z s3cr3t-value\n" * 300_000)
    elif kind == "progress":
        params = {"progressToken": number, "progress": 1}
        line = json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}) + "\n"
        sys.stdout.write(line * 20_000)
    elif kind == "line":
        sys.stdout.write("y" * 20_000_000 + "\n")
    elif kind == "result":
        send({"id": number, "result": {"content": [{"type": "text", "text": "x" * 20_000_000}]}})


def answer(message):
    """Answer a request; notifications need none."""
    number, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    if method == "notifications/cancelled" and "cancelled" in WORDS:
        with open(WORDS["cancelled"], "w") as file:  # noqa: PTH123
            file.write("cancelled")
    if number is None or "mute" in WORDS:
        return
    if method == "initialize" and "modern" in WORDS:
        send({"id": number, "error": {"code": -32601, "message": "Method not found"}})
    elif method == "initialize":
        capabilities = {"tools": {"listChanged": "silent" not in WORDS}}
        info = {"name": "odd", "version": "1"}
        version = params["protocolVersion"]
        send(
            {
                "id": number,
                "result": {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info},
            }
        )
    elif method == "server/discover":
        result = {
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
            "resultType": "complete",
            "ttlMs": 0,
            "cacheScope": "private",
        }
        send({"id": number, "result": result})
    elif method == "tools/list" and "coy" in WORDS and "everybody" in VERSION["description"]:
        return
    elif method == "tools/list":
        if "restless" in WORDS and "everybody" in VERSION["description"]:
            send({"method": "notifications/tools/list_changed"})
        more = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if "modern" in WORDS else {}
        send({"id": number, "result": {"tools": tools(), **more}})
    elif method == "tools/call":
        call(number, params["name"], params.get("arguments") or {})
    else:
        send({"id": number, "error": {"code": -32601, "message": f"Method not found: {method}"}})


def main():
    """Serve until the input ends, or longer."""
    if "leaver" in WORDS:
        sys.exit("the key is missing")
    if "stubborn" in WORDS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        helper = subprocess.Popen(["sleep", "3600"])
        own = f"{os.getpid()} {helper.pid}"
    else:
        own = str(os.getpid())
    if "pids" in WORDS:
        with open(WORDS["pids"], "a") as file:  # noqa: PTH123
            file.write(f"{own}\n")
    if "noisy" in WORDS:
        sys.stdout.buffer.write(
            b'Welcome!\n\xff\xfe\x00 not text\n{"half": \n{}\n[1, 2]\n\n' + b"y\n" * 50_000
        )
        sys.stdout.flush()
    for line in sys.stdin:
        answer(json.loads(line))
        if "noisy" in WORDS:
            print("done something")
    while "stubborn" in WORDS:
        time.sleep(60)


main()
