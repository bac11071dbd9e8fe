"""Commands that run another command: a table of their options, and what they would run."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from magent_lsp.permissions.runners import runs
from magent_lsp.permissions.tables import set_of
from magent_lsp.permissions.words import Word, decode


@dataclass(frozen=True, kw_only=True)
class Wrapper:
    """How a wrapper's own arguments are told from those of the inner command."""

    flags: str = ""
    """Short options without a value."""
    valued: str = ""
    """Short options with a value."""
    long_flags: frozenset[str] = frozenset()
    long_valued: frozenset[str] = frozenset()
    operands: int = 0
    """Operands before the inner command, such as the seconds of `timeout`."""
    assignments: bool = False
    """Whether `NAME=value` may stand before the inner command."""
    number: bool = False
    """Whether `-5` is an option."""
    text: bool = False
    """Whether the rest is joined and read by a shell."""
    reads: bool = False
    """Whether the inner command gets more arguments from the input."""


def _wrapper(
    flags: str = "", valued: str = "", long_flags: str = "", long_valued: str = "", operands: int = 0
) -> Wrapper:
    return Wrapper(
        flags=flags,
        valued=valued,
        long_flags=_long(long_flags),
        long_valued=_long(long_valued),
        operands=operands,
    )


def _long(names: str) -> frozenset[str]:
    return frozenset(f"--{name}" for name in names.split())


WRAPPERS: Final[Mapping[str, Wrapper]] = {
    "env": Wrapper(
        flags="i0v",
        valued="uC",
        long_flags=_long("ignore-environment null debug list-signal-handling"),
        long_valued=_long("unset chdir"),
        assignments=True,
    ),
    "sudo": Wrapper(
        flags="AbEHknPSBKNiseVl",
        valued="CDghpRrTtuU",
        long_flags=_long(
            "askpass background preserve-env set-home login non-interactive preserve-groups stdin shell"
            " reset-timestamp"
        ),
        long_valued=_long(
            "close-from chdir group host prompt chroot role command-timeout type user other-user"
        ),
        assignments=True,
    ),
    "doas": Wrapper(flags="nsL", valued="aCu", assignments=True),
    "time": _wrapper("pvaqV", "fo", "portability verbose append quiet", "format output"),
    "timeout": _wrapper("vfp", "sk", "verbose foreground preserve-status", "signal kill-after", operands=1),
    "nice": Wrapper(valued="n", long_valued=_long("adjustment"), number=True),
    "ionice": _wrapper("t", "cnpPu", "ignore", "class classdata"),
    "chrt": _wrapper("abdfiorRmv", "TPD", operands=1),
    "taskset": _wrapper("ac", "", "all-tasks cpu-list", operands=1),
    "nohup": Wrapper(),
    "setsid": _wrapper("cfw", "", "ctty fork wait"),
    "stdbuf": _wrapper("", "ioe", "", "input output error"),
    "exec": Wrapper(flags="cl", valued="a"),
    "command": Wrapper(flags="pvV"),
    "builtin": Wrapper(),
    "coproc": Wrapper(),
    "busybox": Wrapper(),
    "toybox": Wrapper(),
    "arch": Wrapper(flags="ch", valued="ed"),  # of macOS; elsewhere it takes nothing
    "caffeinate": _wrapper("dimsu", "tw"),
    "unbuffer": _wrapper("p"),
    "fakeroot": _wrapper("u", "lsib"),
    "chroot": _wrapper("", "", "skip-chdir", "groups userspec", operands=1),
    "unshare": _wrapper("imnpuUCTfrc", "RwSG", "fork map-root-user net pid mount user uts ipc", "root wd"),
    "strace": _wrapper("cCdfFhiqrtTvVxyzwk", "abeEIoOpPsSuX", "follow-forks", "output trace"),
    "ltrace": _wrapper("cCfhiLrStTV", "aAdDeFlnopsuwx"),
    "watch": Wrapper(
        flags="bcdegptwxrC",
        valued="nqs",
        long_flags=_long("beep color no-color errexit chgexit no-title precise exec differences no-wrap"),
        long_valued=_long("interval equexit shotsdir"),
        text=True,
    ),
    "xargs": Wrapper(
        flags="0oprtxi",
        valued="aEeIiLlnPsd",
        long_flags=_long("null open-tty interactive no-run-if-empty verbose exit show-limits replace eof"),
        long_valued=_long("arg-file delimiter max-lines max-args max-procs max-chars process-slot-var"),
        reads=True,
    ),
    "parallel": Wrapper(flags="0kmXqtuv", valued="aIijJLnNPsCd", text=True, reads=True),
    "flock": _wrapper(
        "sxnuoFev", "wE", "shared exclusive nonblock unlock close no-fork verbose", "timeout", operands=1
    ),
    "su": Wrapper(flags="lmp-", valued="sgG", operands=1),
    "runuser": Wrapper(flags="lmp-", valued="usgG"),
    "eval": Wrapper(text=True),
}

SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash"})
_SHELL_FLAGS: Final = frozenset("abefhiklmnprtuvxBCEHPTsD")
_SHELL_LONG: Final = set_of("""
    --norc --noprofile --posix --login --restricted --verbose --noediting
""")
_SHELL_VALUED: Final = frozenset({"-o", "+o", "-O", "+O", "--rcfile", "--init-file"})

_FIND_RUNS: Final = re.compile(r"-(exec|ok)(dir)?")
_ASSIGNMENT: Final = re.compile(r"\w+=")


@dataclass(frozen=True, kw_only=True)
class Inner:
    """What a wrapper would run."""

    commands: tuple[tuple[Word, ...], ...] = ()
    texts: tuple[str, ...] = ()
    """Command lines for a shell."""
    problem: str = ""
    """Why it is not known what runs, as a sentence."""
    more: bool = False
    """Whether further arguments come from the input."""


def look_through(name: str, words: Sequence[Word]) -> Inner | None:
    """What the command whose base name is `name` would run; None if it is no wrapper."""
    if name in SHELLS:
        return _shell(name, words)
    if name == "find":
        return _find(words)
    if (found := runs(name, words)) is not None:
        return Inner(commands=found[0], texts=found[1])
    wrapper = WRAPPERS.get(name)
    if wrapper is None:
        return None
    if name == "command" and any(each.text in ("-v", "-V", "-pv", "-pV") for each in words[1:2]):
        return None
    if name in ("su", "runuser"):
        inner = _code_option(words, ("-c", "--command", "--session-command"))
        if inner is not None:
            return inner
    return _unwrap(name, wrapper, words)


def _unwrap(name: str, wrapper: Wrapper, words: Sequence[Word]) -> Inner:
    at, operands = 1, wrapper.operands
    while at < len(words):
        text = words[at].text
        if text == "--":
            at += 1
            continue
        if name == "env" and text.startswith(("-S", "--split-string", "-vS", "-iS")):
            return _split_string(words, at)
        if text == "-" and name in ("env", "su"):
            at += 1
        elif text.startswith("-") and len(text) > 1:
            step = _option(wrapper, text)
            if step is None:
                return _after_unknown(name, words, at)
            at += step
        elif wrapper.assignments and _ASSIGNMENT.match(text):
            at += 1
        elif operands:
            operands -= 1
            at += 1
        else:
            break
    return _rest(name, wrapper, words[at:])


def _rest(name: str, wrapper: Wrapper, rest: Sequence[Word]) -> Inner:
    if not rest:
        return Inner(more=wrapper.reads)
    if wrapper.text:
        if not all(each.literal for each in rest):
            return Inner(problem=f"What `{name}` runs is only known when it runs.", commands=(tuple(rest),))
        return Inner(texts=(" ".join(each.text for each in rest),), more=wrapper.reads)
    return Inner(commands=(tuple(rest),), more=wrapper.reads)


def _option(wrapper: Wrapper, text: str) -> int | None:
    """How many words an option takes; None if the table does not know it."""
    if text.startswith("--"):
        name, equals, _ = text.partition("=")
        if name in wrapper.long_valued:
            return 1 if equals else 2
        return 1 if name in wrapper.long_flags else None
    if wrapper.number and text[1:].lstrip("-").isdigit():
        return 1
    for index, letter in enumerate(text[1:], start=1):
        if letter in wrapper.valued and not (letter in wrapper.flags and index == len(text) - 1):
            return 1 if index + 1 < len(text) else 2
        if letter not in wrapper.flags:
            return None
    return 1


def _after_unknown(name: str, words: Sequence[Word], at: int) -> Inner:
    """An unknown option may or may not take the next word: both readings are looked at."""
    readings = tuple(tuple(words[start:]) for start in (at + 1, at + 2) if start < len(words))
    return Inner(commands=readings, problem=f"The option `{words[at].text[:40]}` of `{name}` is not known.")


def _split_string(words: Sequence[Word], at: int) -> Inner:
    """`env -S 'rm x'` divides a text into words."""
    text = words[at].text
    _, equals, tail = text.partition("=" if text.startswith("--") else "S")
    rest = words[at + 1 :]
    if not tail and (equals != "=") and rest:
        tail, rest = rest[0].text, rest[1:]
    inner = tuple(decode(piece) for piece in tail.split())
    return Inner(commands=((*inner, *rest),), problem="`env -S` divides a text into a command.")


def _code_option(words: Sequence[Word], names: tuple[str, ...]) -> Inner | None:
    for index, each in enumerate(words[1:], start=1):
        name, equals, value = each.text.partition("=")
        if name in names:
            if equals:
                return Inner(texts=(value,))
            return _code(words[0].text, words[index + 1] if index + 1 < len(words) else None)
    return None


def _code(name: str, code: Word | None) -> Inner:
    if code is None or not code.exact:
        text = code.text if code is not None else ""
        return Inner(texts=(text,) if text else (), problem=f"What `{name}` runs is only known when it runs.")
    return Inner(texts=(code.text,))


def _shell(name: str, words: Sequence[Word]) -> Inner:
    """`sh -c TEXT` runs the text; a shell without an operand runs its input."""
    at = 1
    code = False
    while at < len(words):
        text = words[at].text
        if text in _SHELL_VALUED:
            at += 2
        elif text in _SHELL_LONG:
            at += 1
        elif text in ("--", "-"):
            at += 1
            break
        elif text[:1] in ("-", "+") and len(text) > 1 and not text.startswith("--"):
            letters = text[1:]
            code = code or "c" in letters
            if not set(letters) <= _SHELL_FLAGS | {"c", "o"}:
                return Inner(
                    problem=f"The option `{text[:40]}` of `{name}` is not known.",
                    commands=_tail(words, at + 1),
                )
            at += 2 if "o" in letters else 1
        elif text == "--version":
            return Inner()
        elif text.startswith("--"):
            return Inner(
                problem=f"The option `{text[:40]}` of `{name}` is not known.", commands=_tail(words, at + 1)
            )
        else:
            break
    if code:
        return _code(name, words[at] if at < len(words) else None)
    if at >= len(words):
        return Inner(problem=f"`{name}` runs whatever it reads.")
    return Inner()


def _tail(words: Sequence[Word], at: int) -> tuple[tuple[Word, ...], ...]:
    return (tuple(words[at:]),) if at < len(words) else ()


def _find(words: Sequence[Word]) -> Inner | None:
    """The commands of `-exec`, `-ok` and their kin."""
    commands = []
    at = 1
    while at < len(words):
        if _FIND_RUNS.fullmatch(words[at].text):
            start = at + 1
            while at < len(words) and words[at].text not in (";", "+"):
                at += 1
            if words[start:at]:
                commands.append(tuple(words[start:at]))
        at += 1
    return Inner(commands=tuple(commands)) if commands else None
