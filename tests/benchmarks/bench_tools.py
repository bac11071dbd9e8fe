"""How long the tools take on a big workspace: `python tests/benchmarks/bench_tools.py [FILES]`."""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Mapping
from pathlib import Path

from magent_lsp.core.tool import ToolContext, ToolResult
from magent_lsp.tools import bash, glob, grep, list_dir
from magent_lsp.tools.search import find_rg

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.tool_context import call, context_for


def build(root: Path, files: int) -> None:
    """Folders of a hundred small files, a `.gitignore`, and one needle in the last file."""
    (root / ".gitignore").write_text("*.pyc\n__pycache__/\nbuild/\n/dist\n*.log\n")
    for number in range(files):
        folder = root / f"d{number // 10_000}" / f"e{number // 100 % 100}"
        if number % 100 == 0:
            folder.mkdir(parents=True)
        text = f"def function{number}():\n    return {number}\n"
        (folder / f"f{number % 100}.py").write_text(text + ("needle\n" if number == files - 1 else ""))


async def longest_gap(gaps: list[float]) -> None:
    """How long the event loop could not turn."""
    last = time.perf_counter()
    while True:
        await asyncio.sleep(0.001)
        now = time.perf_counter()
        gaps.append(now - last)
        last = now


async def measure(name: str, work: Awaitable[ToolResult]) -> None:
    """Print the time of one call, the longest gap of the loop meanwhile, and the size of the result."""
    gaps = [0.0]
    watch = asyncio.create_task(longest_gap(gaps))
    start = time.perf_counter()
    result = await work
    took = time.perf_counter() - start
    watch.cancel()
    print(f"{name:32} {took * 1000:9.1f} ms   gap {max(gaps) * 1000:6.1f} ms   {len(result.text):7} chars")


def no_rg(env: Mapping[str, str]) -> None:
    """As if there were no ripgrep."""
    return


async def main(files: int) -> None:
    """All measurements, on a fresh tree."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place).resolve() / "workspace"
        root.mkdir()
        await asyncio.to_thread(build, root, files)
        print(f"{files} files, rg: {find_rg(os.environ)}")
        context: ToolContext = context_for(root, scratch=root.parent / "scratch")
        needle, common = grep.Input(pattern="needle"), grep.Input(pattern="return")
        names = glob.Input(pattern="**/f5*.py")
        await measure("grep, one match", grep.search(needle, context, find_rg))
        await measure("grep, many matches", grep.search(common, context, find_rg))
        await measure("grep without rg, one match", grep.search(needle, context, no_rg))
        await measure("glob", glob.find(names, context, find_rg))
        await measure("glob without rg", glob.find(names, context, no_rg))
        await measure("list_dir, depth 5", call(list_dir.TOOL, context, depth=5))
        await measure("bash true", call(bash.TOOL, context, command="true"))
        await measure("bash, 100 MB of output", call(bash.TOOL, context, command="yes | head -c 100000000"))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000))
