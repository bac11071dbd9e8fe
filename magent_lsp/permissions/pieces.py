"""What the words of a command may hold: paths within them, spellings of braces, a flag that a rule names."""

import re
from collections.abc import Iterator

from magent_lsp.permissions.line import Command
from magent_lsp.permissions.rules import Rule
from magent_lsp.permissions.words import Word


def pieces(each: Word, known: bool) -> Iterator[str]:
    """The parts of an argument that may be a path."""
    text = each.text
    if not known:
        yield text
    for sign in "=@:":
        if sign in text:
            yield text.partition(sign)[2].lstrip("@")
            yield text.rpartition(sign)[2]
    if text.startswith("-") and len(text) > 2:
        yield text[2:]
    if any(blank in text for blank in " ,"):
        yield from text.replace(",", " ").split()[:20]


def spelled(command: Command) -> Iterator[str]:
    """The words, those with braces in each of their spellings: `{--output=x,}` holds a flag."""
    for each in command.words:
        yield each.text
        braces = None if each.literal else re.search(r"\{([^{},]*,[^{}]*)\}", each.text)
        if braces is not None:
            for part in braces[1].split(",")[:20]:
                yield each.text[: braces.start()] + part + each.text[braces.end() :]


def names_token(rule: Rule | None, token: str) -> bool:
    """Whether an allowing rule itself names a dangerous flag, in the part before its first `*`."""
    if rule is None or not token or rule.verdict != "allow":
        return False
    head = rule.pattern.partition("*")[0]
    if head.startswith(("tee ", "truncate ")):  # their files are judged one by one
        begun = head.rpartition(" ")[2]
        if begun and token.startswith(begun):
            return True
    return head.startswith(f"{token} ") or f" {token} " in f"{head} "
