"""What can be said on the command line."""

import argparse
import sys
from pathlib import Path
from typing import Any, NoReturn

from magent_lsp import __version__

PROGRAM = "magent-lsp"
USAGE = 2
"""Exit code of a mistake on the command line."""

_EXITS = """exit codes of run: 0 done, 1 failed, 2 usage, 3 stopped by a limit, 4 a permission was refused,
130 cancelled"""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, instead of the usage and the error."""

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: {message}; see `{self.prog} --help`", file=sys.stderr)
        raise SystemExit(USAGE)


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; `command` in its result names the sub-command."""
    root = _Parser(
        prog=PROGRAM,
        description="An AI coding agent for any editor with a language client, and for the terminal.",
        epilog=f"Without a command it is `{PROGRAM} serve`. New here? Try `{PROGRAM} demo`.",
    )
    root.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = root.add_subparsers(metavar="COMMAND", required=True)
    for add in _ADDED:
        add(commands)
    return root


def _command(commands: Any, name: str, text: str, **more: Any) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=text[0].lower() + text[1:], description=f"{text}.", allow_abbrev=False, **more
    )
    command.add_argument("-v", "--verbose", action="count", default=0, help="say more; -vv shows tracebacks")
    command.set_defaults(command=name)
    return command


def _add_serve(commands: Any) -> None:
    command = _command(commands, "serve", "Serve editors: a language server on stdio")
    where = command.add_mutually_exclusive_group()
    where.add_argument("--stdio", action="store_true", help="the default; some clients say it")
    where.add_argument("--tcp", metavar="HOST:PORT", help="listen on TCP instead")
    where.add_argument("--ws", metavar="HOST:PORT", help="listen for WebSockets instead")
    command.add_argument(
        "--token-file", type=Path, metavar="F", help="a secret clients must give; needed beyond loopback"
    )
    command.add_argument("--log-file", type=Path, metavar="F", help="write the log there")


def _add_mcp(commands: Any) -> None:
    command = _command(
        commands, "mcp", "Give an agent of another program your editor: an MCP server on stdio"
    )
    command.add_argument(
        "--folder", type=Path, metavar="D", help="the folder that the editor has open; default: this one"
    )


def _add_run(commands: Any) -> None:
    command = _command(commands, "run", "Run one prompt without an editor", epilog=_EXITS)
    command.add_argument(
        "prompt", nargs="*", metavar="PROMPT", help="what to do; `-` is what stdin holds, /NAME a command"
    )
    _add_agent_options(command)
    command.add_argument("--file", metavar="F[:L1-L2]", help="the file, or lines of it, that it is about")
    command.add_argument("--json", action="store_true", help="events on stdout, one JSON object a line")


def _add_chat(commands: Any) -> None:
    _add_agent_options(_command(commands, "chat", "Talk with an agent in the terminal"))


def _add_agent_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--agent", metavar="A", help="the agent; default: the setting `agent`")
    command.add_argument(
        "--cwd", type=Path, default=Path(), metavar="D", help="the folder to work in; default: this one"
    )
    command.add_argument("--session", metavar="ID", help="go on with that session; `last`: the newest here")
    command.add_argument("--model", metavar="M", help="provider/name, or scripted:FILE")
    command.add_argument(
        "--allow", action="append", default=[], metavar="TOOL[:PATTERN]", help="allow this; repeatable"
    )
    command.add_argument("--yes", action="store_true", help="answer ordinary permission questions with yes")


def _add_demo(commands: Any) -> None:
    command = _command(commands, "demo", "Show the whole path on a sample project, offline")
    command.add_argument("--yes", action="store_true", help="answer the permission questions with yes")
    command.add_argument("--model", metavar="M", help="a real model; default: a recorded script")
    command.add_argument("--keep", action="store_true", help="keep the sample project")


def _add_doctor(commands: Any) -> None:
    command = _command(commands, "doctor", "Report what is set up, what is missing, how to mend it")
    command.add_argument("--json", action="store_true", help="the report as one JSON object")
    command.add_argument("--cwd", type=Path, default=Path(), metavar="D", help="the folder to look at")


def _add_sessions(commands: Any) -> None:
    command = _command(commands, "sessions", "Look at past sessions, and keep them in order")
    verbs = command.add_subparsers(metavar="VERB", dest="verb", required=True)
    for verb, text, words in (
        ("list", "sessions of this folder, newest first", ()),
        ("show", "one conversation, to read", ("ID",)),
        ("search", "sessions that hold a text", ("TEXT",)),
        ("export", "one conversation, to keep", ("ID",)),
        ("fork", "a copy to go on with", ("ID",)),
        ("rename", "another title", ("ID", "TITLE")),
        ("delete", "remove for good", ("ID",)),
    ):
        parser = verbs.add_parser(verb, help=text, description=f"{text[0].upper()}{text[1:]}.")
        for word in words:
            parser.add_argument(word.lower(), metavar=word, nargs="+" if word in ("TEXT", "TITLE") else None)
        if verb in ("list", "search"):
            parser.add_argument("--all", action="store_true", help="of all folders")
            parser.add_argument("--json", action="store_true", help="as one JSON array")
        if verb == "export":
            formats = ("markdown", "json", "text")
            parser.add_argument("--format", choices=formats, default="markdown", help="default: markdown")
            parser.add_argument("--output", type=Path, metavar="F", help="write to this new file")
        if verb == "fork":
            parser.add_argument("--message", metavar="ID", help="only up to this message")


def _add_permissions(commands: Any) -> None:
    command = _command(commands, "permissions", "Explain permissions")
    verbs = command.add_subparsers(metavar="VERB", required=True)
    explain = _command(verbs, "explain", "Say what a call may do, and which rule says so")
    explain.usage = f"{PROGRAM} permissions explain [OPTION]… TOOL ARG…"
    explain.add_argument("tool", metavar="TOOL", help="such as bash, read_file, fetch")
    explain.add_argument(
        "argument",
        metavar="ARG",
        nargs=argparse.REMAINDER,
        help="the command as you would type it, path or URL",
    )
    _explain_options(explain)


def _explain_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--agent", metavar="A", help="as this agent")
    command.add_argument("--cwd", type=Path, default=Path(), metavar="D", help="in this folder")
    command.add_argument("--allow", action="append", default=[], metavar="TOOL[:PATTERN]", help="with this")
    command.add_argument("--json", action="store_true", help="as one JSON object")


def late_options(arguments: argparse.Namespace) -> argparse.Namespace:
    """Options of `permissions explain` behind the tool: behind a command in words they are part of it."""
    words: list[str] = arguments.argument
    typed = arguments.tool == "bash" and bool(words) and not any(sign.isspace() for sign in words[0])
    command = _Parser(
        prog=f"{PROGRAM} permissions explain", allow_abbrev=False, argument_default=argparse.SUPPRESS
    )
    _explain_options(command)
    command.add_argument("argument", nargs=argparse.REMAINDER if typed else "*")
    if typed and not words[0].startswith("--"):
        return arguments
    return command.parse_args(words, arguments)


_ADDED = (
    _add_serve,
    _add_run,
    _add_chat,
    _add_demo,
    _add_doctor,
    _add_sessions,
    _add_permissions,
    _add_mcp,
)
