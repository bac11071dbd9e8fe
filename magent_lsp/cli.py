"""The command line: reads it, calls the part that does the work, leaves with its exit code."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from magent_lsp.headless.arguments import PROGRAM, USAGE, late_options, parser
from magent_lsp.headless.leave import leave
from magent_lsp.headless.logs import configure

_FAILED, _CANCELLED = 1, 130


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """The program: never returns, and never shows a traceback unless -vv asks for it."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        code = dispatch(words)
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else _FAILED
    except KeyboardInterrupt:
        print(f"{PROGRAM}: cancelled", file=sys.stderr)
        code = _CANCELLED
    except BaseException as error:
        code = _explain(error, verbose=_verbosity(words))
    leave(code)


def dispatch(words: Sequence[str]) -> int:
    """Run the sub-command that the words name; returns the exit code."""
    words = list(words)
    if not words or (words[0].startswith("-") and words[0] not in ("-h", "--help", "--version")):
        words.insert(0, "serve")
    arguments = parser().parse_args(words)
    if arguments.command != "serve":  # which has a log of its own
        configure(getattr(arguments, "verbose", 0))
    return _COMMANDS[arguments.command](arguments)


def _serve(arguments: argparse.Namespace) -> int:
    from magent_lsp.lsp.server import serve

    return serve(arguments)


def _run(arguments: argparse.Namespace) -> int:
    from magent_lsp.headless.run import RunOptions, run

    more = {"prompt": tuple(arguments.prompt), "file": arguments.file, "json": arguments.json}
    return run(RunOptions(**_agent_options(arguments), **more))


def _chat(arguments: argparse.Namespace) -> int:
    from magent_lsp.headless.chat import chat
    from magent_lsp.headless.start import Options

    return chat(Options(**_agent_options(arguments)))


def _demo(arguments: argparse.Namespace) -> int:
    from magent_lsp.headless.demo import demo

    return demo(model=arguments.model, yes=arguments.yes, keep=arguments.keep)


def _doctor(arguments: argparse.Namespace) -> int:
    from magent_lsp.headless.doctor import doctor

    return doctor(arguments.cwd.resolve(), json=arguments.json)


def _sessions(arguments: argparse.Namespace) -> int:
    from magent_lsp.headless.sessions import VERBS

    return VERBS[arguments.verb](arguments)


def _permissions(arguments: argparse.Namespace) -> int:
    from magent_lsp.headless.permissions import explain

    arguments = late_options(arguments)
    options = {"agent": arguments.agent, "allow": tuple(arguments.allow), "json": arguments.json}
    return explain(arguments.cwd.resolve(), arguments.tool, arguments.argument, **options)


def _mcp(arguments: argparse.Namespace) -> int:
    from magent_lsp.mcp.program import serve

    return serve(arguments.folder.resolve() if arguments.folder is not None else None)


_COMMANDS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "serve": _serve,
    "run": _run,
    "chat": _chat,
    "demo": _demo,
    "doctor": _doctor,
    "sessions": _sessions,
    "explain": _permissions,
    "mcp": _mcp,
}


def _agent_options(arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "cwd": arguments.cwd.resolve(),
        "agent": arguments.agent,
        "session": arguments.session,
        "model": arguments.model,
        "allow": tuple(arguments.allow),
        "yes": arguments.yes,
        "verbose": arguments.verbose,
    }


def _explain(error: BaseException, verbose: int) -> int:
    """Say on stderr, in one line, what went wrong; returns the exit code."""
    from magent_lsp.core.errors import CallerError, MagentError

    if verbose > 1:
        import traceback

        traceback.print_exception(error)
    text = " ".join(str(error).split()) or type(error).__name__
    if not isinstance(error, MagentError | OSError):
        text = f"{type(error).__name__}: {text}; run it again with -vv to see where, and report it"
    print(f"{PROGRAM}: {text}", file=sys.stderr)
    return USAGE if isinstance(error, CallerError) else _FAILED


def _verbosity(words: Sequence[str]) -> int:
    """How often -v was said, also where parsing failed."""
    short = [word for word in words if word.startswith("-v") and not word.strip("-v")]
    return sum(word.count("v") for word in short) + words.count("--verbose")
