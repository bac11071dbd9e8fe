"""How long a verdict takes: medians for ordinary calls, and for input made to be slow.

python -m tests.benchmarks permissions
"""

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

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
ORDINARY_BOUND = 1.0
HOSTILE_BOUND = 200.0
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
    "brackets that close": "man " + "_é1..)" * 1_650,
    "version at the end": f"x=({'1' * 9_990}}}",
    "quotes in arithmetic": f"(( {chr(34) * 9_800} ))",
    "long arithmetic": f"(( {'a' * 9_990} ))",
    "subscripts": f"echo $(( {'a[1]+' * 990}1 ))",
    "decrements": f"(( {'--a' * 3_300} ))",
    "comparisons": f"[[ {'A' * 9_900} -eq 1 ]]",
    "nested expansions": "echo " + "${a:-" * 900 + "x" + "}" * 900,
    "braces": "ls " + "{a,b}" * 900,
    "open braces": "ls " + "{a" * 990 + "," * 7_000,
    "URL of 8 kB": "curl file:" + "/x" * 4_000,
}


def median(call: Callable[[], object], times: int) -> tuple[float, float]:
    """Milliseconds: of the middle one of several calls by the clock, and of the processor at best.

    The second is what the work takes, also where other programs share the machine.
    """
    spent, worked = [], []
    for _ in range(times):
        started, began = time.perf_counter(), time.process_time()
        call()
        spent.append((time.perf_counter() - started) * 1_000)
        worked.append((time.process_time() - began) * 1_000)
    return statistics.median(spent), min(worked)


def show(kind: str, name: str, spent: tuple[float, float], bound: float, more: str = "") -> bool:
    """Print one line; whether the processor's time is within the bound."""
    mark = "" if spent[1] < bound else f"  OVER {bound:g} ms"
    print(f"{kind:9} {name:32} {spent[0]:8.2f} ms  processor {spent[1]:8.2f} ms  {more}{mark}")
    return not mark


def main() -> int:
    """Print one line a case; 1 if one is over its bound."""
    rules, defaults, where = policy(FIXTURE), policy(), place()
    where = type(where)(folders=where.folders, cwd=where.cwd, home=where.home, resolve=Path.resolve)
    bash("ls", rules, where)
    good = True
    for name, command in ORDINARY.items():
        for which, chosen in (("own rules", rules), ("defaults", defaults)):
            spent = median(lambda command=command, chosen=chosen: bash(command, chosen, where), 300)
            good &= show("ordinary", f"{name}, {which}", spent, ORDINARY_BOUND)
    read = Subject(tool="read_file", kind="path", value="src/a.py")
    good &= show(
        "ordinary", "read a file", median(lambda: judge([read], defaults, where), 300), ORDINARY_BOUND
    )
    for name, command in HOSTILE.items():
        spent = median(lambda command=command: bash(command, rules, where), 3)
        good &= show("hostile", name, spent, HOSTILE_BOUND, bash(command, rules, where).verdict)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
