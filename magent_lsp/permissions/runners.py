"""Programs that run another one by a subcommand: `bundle exec`, `uv run`, `npm exec`, `nix develop -c`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from magent_lsp.permissions.tables import set_of
from magent_lsp.permissions.words import Word

RUNNERS: Final[Mapping[str, frozenset[str]]] = {
    "bundle": set_of("exec"),
    "bundler": set_of("exec"),
    "uv": set_of("run"),
    **dict.fromkeys(("pipenv", "hatch", "pdm", "rye", "poetry", "pipx", "pixi"), set_of("run exec shell")),
    **dict.fromkeys(("conda", "mamba", "micromamba"), set_of("run")),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), set_of("exec x dlx")),
    **dict.fromkeys(("mise", "rtx", "asdf", "direnv", "devbox", "dotenv"), set_of("exec x run")),
    **dict.fromkeys(("docker", "podman", "nerdctl"), set_of("exec run")),
    **dict.fromkeys(("kubectl", "oc"), set_of("exec run debug")),
    "nix": set_of("develop shell run"),
    "rustup": set_of("run"),
    "rbenv": set_of("exec"),
    "pyenv": set_of("exec"),
    "opam": set_of("exec"),
    "stack": set_of("exec"),
    "cabal": set_of("exec"),
    "mix": set_of("cmd"),
    "op": set_of("run"),
    **dict.fromkeys(("npx", "pnpx", "bunx", "uvx", "nix-shell"), frozenset()),
}
"""Programs with those of their subcommands that run a program; none: the program itself does."""

_WITH_PLACE: Final = set_of("docker podman nerdctl kubectl oc rustup mise rtx direnv")
"""Their first operand may say where, or with what, it runs."""
_LEVELS: Final = frozenset({"compose"})
"""Subcommands that have the runners among their own."""
_COMMAND: Final = frozenset({"-c", "--command", "--call", "--run"})
_TEXTS: Final = set_of("npm pnpm yarn npx nix-shell mise rtx")
"""Programs whose `-c` is a line for a shell; the others take words."""
_MOST: Final = 8
"""Readings that are looked at: whether an option takes the next word is not known."""


def runs(name: str, words: Sequence[Word]) -> tuple[tuple[tuple[Word, ...], ...], tuple[str, ...]] | None:
    """The commands, in each reading, and the lines for a shell that a runner runs; None if it is none."""
    start = _start(name, [each.text for each in words])
    if start is None:
        return None
    texts = []
    for index, each in enumerate(words[:-1]):
        if index >= start and name in _TEXTS and each.text in _COMMAND:
            texts.append(words[index + 1].text)
    texts += [
        each.text.partition("=")[2]
        for each in words[start:]
        if name in _TEXTS and each.text.startswith(("--call=", "--run=", "--command="))
    ]
    readings = dict.fromkeys(tuple(words[at:]) for at in _beginnings(name, words, start))
    return tuple(readings)[:_MOST], tuple(texts[:_MOST])


def runner_head(words: Sequence[str]) -> bool:
    """Whether a command is one that runs another."""
    return _start(words[0].rpartition("/")[2], words) is not None


def _start(name: str, texts: Sequence[str]) -> int | None:
    """The index behind the subcommand that runs something."""
    verbs = RUNNERS.get(name)
    if verbs is None:
        return None
    if not verbs:
        return 1
    for index, text in enumerate(texts[1:], start=1):
        if text in verbs:
            return index + 1
        if not text.startswith("-") and text not in _LEVELS and not texts[index - 1].startswith("-"):
            return None
    return None


def _beginnings(name: str, words: Sequence[Word], start: int) -> Iterator[int]:
    """Where the command may begin."""
    places = 1 if name in _WITH_PLACE else 0
    sure = False
    for index in range(start, len(words)):
        text, before = words[index].text, words[index - 1].text if index > start else ""
        if text == "--":
            yield from range(index + 1, min(index + 2, len(words)))
            return
        if name == "nix" and before in _COMMAND:
            yield index
            return
        if sure or text.startswith("-"):
            continue
        yield index
        if not before.startswith("-") or "=" in before:
            sure, places = places == 0, 0
