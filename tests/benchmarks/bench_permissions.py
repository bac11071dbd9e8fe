"""How long a verdict takes: medians for ordinary calls, and for input made to be slow.

python tests/benchmarks/bench_permissions.py
"""

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from magent_lsp.core.tool import Subject
from magent_lsp.permissions.judge import judge
from tests.support.permissions import FIXTURE, bash, place, policy

ORDINARY = {
    "git status": "git status",
    "ls -la | head": "ls -la | head -n 5",
    "grep in a file": "grep -n foo src/a.py",
    "cd && test": "cd src && pytest -q tests",
    "asks, with a grant": "npm run build",
    "redirect": "echo a > out.txt",
}
HOSTILE = {
    "10 MB of letters": "a" * 10_000_000,
    "10 MB of commands": "rm y;" * 2_000_000,
    "5,000 nested $(": "$(" * 5_000,
    "3,000 closed $(": "$(" * 3_000 + ")" * 3_000,
    "closing brackets": "a))" * 3_333,
    "smaller signs": "< " * 5_000,
    "pipes": "a|" * 4_999,
    "semicolons": "a;" * 4_999,
    "words": "a " * 4_999,
    "paths": "cat " + "a/b " * 2_490,
    "globs": "cat " + "a*b " * 2_490,
    "quotes": "'a" * 4_999,
    "here documents": "cat <<A " * 1_200,
    "128 kB of commands": "a;b " * 32_000,
    "bangs and brackets": "!))!!!" * 1_600,
    "assignments": "a=b " * 2_499,
    "deep eval": "eval " * 1_900 + "x",
    "sudo chain": "sudo " * 1_900 + "x",
    "tests": "[[ " * 3_333,
    "NUL": "\0" * 9_999,
}


def median(call: Callable[[], object], times: int) -> float:
    """Milliseconds of the middle one of several calls."""
    spent = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        spent.append((time.perf_counter() - started) * 1_000)
    return statistics.median(spent)


def main() -> None:
    """Print one line a case."""
    rules, defaults, where = policy(FIXTURE), policy(), place()
    where = type(where)(folders=where.folders, cwd=where.cwd, home=where.home, resolve=Path.resolve)
    bash("ls", rules, where)
    for name, command in ORDINARY.items():
        one = median(lambda command=command: bash(command, rules, where), 200)
        two = median(lambda command=command: bash(command, defaults, where), 200)
        print(f"ordinary  {name:24} {one:8.2f} ms  defaults {two:8.2f} ms")
    read = Subject(tool="read_file", kind="path", value="src/a.py")
    print(f"ordinary  {'read a file':24} {median(lambda: judge([read], defaults, where), 200):8.2f} ms")
    for name, command in HOSTILE.items():
        spent = median(lambda command=command: bash(command, rules, where), 3)
        verdict = bash(command, rules, where).verdict
        print(f"hostile   {name:24} {spent:8.1f} ms  {verdict}")


if __name__ == "__main__":
    main()
