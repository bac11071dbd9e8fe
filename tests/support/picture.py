"""A picture of a terminal, for the guides: what tmux shows, drawn by a browser."""

import io
import subprocess
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from tests.support.editors import Tmux, need


def _colour(code: str) -> tuple[int, int, int]:
    red, green, blue = bytes.fromhex(code)
    return red, green, blue


DARK = TerminalTheme(
    (20, 22, 27),
    (224, 226, 234),
    [
        _colour(code)
        for code in ["07080d", "ff9696", "96dc96", "f0c86e", "82aaff", "dca0f0", "78d2dc", "c4c6cd"]
    ],
    [
        _colour(code)
        for code in ["4f5258", "ffaaaa", "b3f6c0", "fce094", "a6dbff", "ffcaff", "8cf8f7", "eef1f8"]
    ],
)
"""Neovim's own background, so that the ends of lines do not show."""


def take(terminal: Tmux, path: Path, *, title: str = "") -> None:
    """Draw the screen of a terminal into a PNG."""
    lines = Text.from_ansi(terminal.screen(colours=True).rstrip("\n"))
    width = max((line.cell_len for line in lines.split()), default=80)
    console = Console(
        record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )
    console.print(lines, no_wrap=True, overflow="crop")
    svg = path.with_suffix(".svg")
    console.save_svg(str(svg), title=title, theme=DARK)
    text = svg.read_text(encoding="utf-8")
    # The browser has no network: its own monospaced font, in place of one from there.
    svg.write_text(text.replace("Fira Code", "DejaVu Sans Mono"), encoding="utf-8")
    size = text.partition('viewBox="0 0 ')[2].partition('"')[0].split()
    window = ",".join(str(round(float(side))) for side in size)
    chromium = need("chromium", "apt-get install chromium")
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += [f"--screenshot={path}", f"--window-size={window}", "--default-background-color=00000000"]
    subprocess.run([*command, svg.as_uri()], check=True, capture_output=True, timeout=60)
    svg.unlink()
