"""Calls as models really make them, flaws and all: they land right or are refused, never elsewhere.

The corpus is generated from files of several languages with a fixed seed: for each place a clean edit is
made, its right result is known, and then the call is spoilt in one of the ways that models spoil calls.
"""

import random
import re
from collections import Counter
from collections.abc import Callable

from magent_lsp.core.errors import EditError
from magent_lsp.core.matching import Edit, place

FILES = {
    "service.py": '''import os
import json


class Service:
    """Keeps 'records' of "things"."""

    def __init__(self, path):
        self.path = path
        self.records = {}

    def load(self):
        if not os.path.exists(self.path):
            return None
        with open(self.path) as stream:
            self.records = json.load(stream)
        return self.records

    def save(self):
        if not self.records:
            return None
        with open(self.path, "w") as stream:
            json.dump(self.records, stream, indent=2)
        return self.path

    def get(self, key, default=None):
        try:
            return self.records[key]
        except KeyError:
            return default

    def drop(self, key):
        try:
            del self.records[key]
        except KeyError:
            return False
        return True
''',
    "app.ts": """import { Router } from 'express';

export interface User {
  id: string;
  name: string;
}

export function makeRouter(users: Map<string, User>): Router {
  const router = Router();

  router.get('/users', (req, res) => {
    res.json([...users.values()]);
  });

  router.get('/users/:id', (req, res) => {
    const user = users.get(req.params.id);
    if (!user) {
      res.status(404).json({ error: 'no such user' });
      return;
    }
    res.json(user);
  });

  router.delete('/users/:id', (req, res) => {
    const user = users.get(req.params.id);
    if (!user) {
      res.status(404).json({ error: 'no such user' });
      return;
    }
    users.delete(user.id);
    res.status(204).end();
  });

  return router;
}
""",
    "Makefile": """CC = gcc
CFLAGS = -O2 -Wall

all: main

main: main.o util.o
\t$(CC) $(CFLAGS) -o $@ $^
\tstrip $@

main.o: main.c util.h
\t$(CC) $(CFLAGS) -c main.c

util.o: util.c util.h
\t$(CC) $(CFLAGS) -c util.c

clean:
\trm -f main *.o
\trm -rf build
""",
    "guide.md": """# Guide

Install it first.\x20\x20
Then start it with `run`.

It's “simple” – really:

- one
- two
    - two and a half

1. Open the file
2. Change “name” to 'title'
3. Save it
""",
    "server.go": """package main

import "net/http"

func handler(w http.ResponseWriter, r *http.Request) {
\tif r.Method != "GET" {
\t\thttp.Error(w, "bad method", 405)
\t\treturn
\t}
\tfor name, values := range r.Header {
\t\tfor _, value := range values {
\t\t\tw.Write([]byte(name + ": " + value))
\t\t}
\t}
}

func main() {
\thttp.HandleFunc("/", handler)
\tif err := http.ListenAndServe(":8080", nil); err != nil {
\t\tpanic(err)
\t}
}
""",
}

Spoil = Callable[[random.Random, str, str, str], tuple[str, str]]
"""(random, file, old, new) -> what the model sends."""


def clean(rng: random.Random, file: str, old: str, new: str) -> tuple[str, str]:
    return old, new


def deeper(rng: random.Random, file: str, old: str, new: str) -> tuple[str, str]:
    pad = rng.choice(["  ", "    ", "\t"])
    return _each(old, lambda line: pad + line), _each(new, lambda line: pad + line)


def dedented(rng: random.Random, file: str, old: str, new: str) -> tuple[str, str]:
    blanks = [re.match(r"[ \t]*", line).group() for line in (old + "\n" + new).split("\n") if line.strip()]  # type: ignore[union-attr]
    pad = min(blanks, key=len)
    return _each(old, lambda line: line.removeprefix(pad)), _each(new, lambda line: line.removeprefix(pad))


def tabs_to_spaces(rng: random.Random, file: str, old: str, new: str) -> tuple[str, str]:
    width = rng.choice([2, 4])
    return (
        _each(old, lambda line: _indent(line, "\t", " " * width)),
        _each(new, lambda line: _indent(line, "\t", " " * width)),
    )


def spaces_to_tabs(rng: random.Random, file: str, old: str, new: str) -> tuple[str, str]:
    unit = "  " if "  router" in file else "    "
    return _each(old, lambda line: _indent(line, unit, "\t")), _each(
        new, lambda line: _indent(line, unit, "\t")
    )


def trailing_blanks(rng: random.Random, file: str, old: str, new: str) -> tuple[str, str]:
    lines = old.split("\n")
    return "\n".join(line + rng.choice(["", " ", "  ", "\t"]) for line in lines), new


def no_trailing_blanks(rng: random.Random, file: str, old: str, new: str) -> tuple[str, str]:
    return _each(old, str.rstrip), _each(new, str.rstrip)


def curly_quotes(rng: random.Random, file: str, old: str, new: str) -> tuple[str, str]:
    def curl(text: str) -> str:
        return re.sub(r"'([^'\n]*)'", r"‘\1’", re.sub(r'"([^"\n]*)"', r"“\1”", text)).replace("–", "-")

    return curl(old), curl(new)


def plain_quotes(rng: random.Random, file: str, old: str, new: str) -> tuple[str, str]:
    table = str.maketrans("“”‘’–", "\"\"''-")
    return old.translate(table), new.translate(table)


def everything(rng: random.Random, file: str, old: str, new: str) -> tuple[str, str]:
    old, new = deeper(rng, file, *curly_quotes(rng, file, old, new))
    return crlf(rng, file, *trailing_blanks(rng, file, old, new))


def crlf(rng: random.Random, file: str, old: str, new: str) -> tuple[str, str]:
    return old.replace("\n", "\r\n"), new.replace("\n", "\r\n")


def stale_context(rng: random.Random, file: str, old: str, new: str) -> tuple[str, str]:
    lines = old.split("\n")
    number = rng.randrange(len(lines))
    lines[number] += " // as it was yesterday"
    return "\n".join(lines), new


def skipped_line(rng: random.Random, file: str, old: str, new: str) -> tuple[str, str]:
    """A line inside is left out, as by a model that abridges."""
    lines = old.split("\n")
    inner = [n for n in range(1, len(lines) - 1) if lines[n].strip()]
    if inner:
        del lines[rng.choice(inner)]
    abridged = "\n".join(lines)
    return (abridged if abridged not in file else f"{abridged} // and so on"), new


def too_little(rng: random.Random, file: str, old: str, new: str) -> tuple[str, str]:
    """A line that the file has more than once."""
    lines = [line for line in file.split("\n") if line.strip() and file.count(line) > 1]
    line = rng.choice(lines) if lines else "}"
    return line, line + " changed"


def numbered(rng: random.Random, file: str, old: str, new: str) -> tuple[str, str]:
    return "\n".join(f"{n:>6}\t{line}" for n, line in enumerate(old.split("\n"), 10)), new


def uneven(rng: random.Random, file: str, old: str, new: str) -> tuple[str, str]:
    lines = old.split("\n")
    number = rng.randrange(len(lines))
    lines[number] = "   " + lines[number]
    return "\n".join(lines), new


SPOILT: dict[str, tuple[Spoil, bool]] = {
    "clean": (clean, True),
    "deeper": (deeper, True),
    "dedented": (dedented, True),
    "tabs to spaces": (tabs_to_spaces, True),
    "spaces to tabs": (spaces_to_tabs, True),
    "trailing blanks": (trailing_blanks, True),
    "no trailing blanks": (no_trailing_blanks, True),
    "curly quotes": (curly_quotes, True),
    "plain quotes": (plain_quotes, True),
    "crlf": (crlf, True),
    "everything": (everything, True),
    "stale context": (stale_context, False),
    "skipped line": (skipped_line, False),
    "too little": (too_little, False),
    "numbered": (numbered, False),
    "uneven": (uneven, False),
}
"""How a call is spoilt, and whether it still says clearly what is meant."""


def _each(text: str, change: Callable[[str], str]) -> str:
    return "\n".join(change(line) if line.strip() else line for line in text.split("\n"))


def _indent(line: str, old: str, new: str) -> str:
    content = line
    levels = 0
    while content.startswith(old):
        content = content[len(old) :]
        levels += 1
    return new * levels + content


def calls(seed: int) -> list[tuple[str, str, str, Edit, str]]:
    """(file, how it was spoilt, text, the call, the right result)."""
    rng = random.Random(seed)
    made = []
    for name, text in FILES.items():
        lines = text.split("\n")
        for how, (spoil, _) in SPOILT.items():
            for _ in range(5):
                length = rng.randint(2, 6)
                first = rng.randrange(len(lines) - length - 1)
                old = "\n".join(lines[first : first + length])
                if text.count(old) != 1 or not old.strip() or not lines[first].strip():
                    continue
                changed = lines[first : first + length]
                number = rng.randrange(length)
                indent = re.match(r"[ \t]*", changed[number]).group()  # type: ignore[union-attr]
                changed[number : number + 1] = rng.choice(
                    [
                        [changed[number].rstrip() + " + added"],
                        [changed[number], f"{indent}added();"],
                        [f"{indent}added();", changed[number]],
                        [f"{indent}replaced();"],
                    ]
                )
                new = "\n".join(changed)
                right = text.replace(old, new)
                sent = spoil(rng, text, old, new)
                made.append((name, how, text, Edit(*sent), right))
    return made


def _same_words(result: str, right: str) -> bool:
    """Equal but for blanks at line ends of the lines that were changed."""
    return [line.rstrip() for line in result.split("\n")] == [line.rstrip() for line in right.split("\n")]


CORPUS = calls(20) + calls(21)


def test_no_call_lands_in_the_wrong_place() -> None:
    """At least 200 calls; every one is applied as it was meant, or refused."""
    counts: Counter[str] = Counter()
    wrong = []
    for name, how, text, edit, right in CORPUS:
        try:
            placed = place(text, [edit])
        except EditError:
            counts[f"{how}: refused"] += 1
            continue
        if _same_words(placed.after, right):
            counts[f"{how}: applied"] += 1
        else:
            counts[f"{how}: misapplied"] += 1
            wrong.append((name, how, edit, placed.after))
    applied = sum(count for key, count in counts.items() if key.endswith("applied") and "mis" not in key)
    print(f"{len(CORPUS)} calls, {applied} applied, {len(CORPUS) - applied} refused, {len(wrong)} misapplied")
    print("\n".join(f"  {key}: {count}" for key, count in sorted(counts.items())))
    assert len(CORPUS) >= 200
    assert not wrong, wrong[0]
    for how, (_, clear) in SPOILT.items():
        good, bad = counts[f"{how}: applied"], counts[f"{how}: refused"]
        if clear:
            assert good > 9 * bad, f"{how}: {bad} of {good + bad} clear calls were refused"
        elif how != "uneven":
            assert not good, f"{how}: {good} unclear calls were applied"
