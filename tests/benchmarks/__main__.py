"""Runs every benchmark and prints its figures: `python -m tests.benchmarks [NAME…]`.

A figure over its bound is marked by the benchmark that measures it; the exit status stays 0, since a busy
machine is no fault of the code. `--strict` makes it 1.
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main(words: list[str]) -> int:
    """Run those that are named, or all."""
    names = [word for word in words if not word.startswith("-")]
    failed = []
    for path in sorted(HERE.glob("bench_*.py")):
        name = path.stem.removeprefix("bench_")
        if names and name not in names:
            continue
        print(f"\n# {name}", flush=True)
        module = f"tests.benchmarks.{path.stem}"
        if subprocess.run([sys.executable, "-m", module], cwd=HERE.parents[1], check=False).returncode:
            failed.append(name)
    if failed:
        print(f"\nover a bound, or failed: {', '.join(failed)}")
    return 1 if failed and "--strict" in words else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
