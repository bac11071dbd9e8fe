"""The project that the demo works on, in a temporary folder with a state of its own."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

_OURS = ("MAGENT_MODEL", "MAGENT_SMALL_MODEL", "MAGENT_AGENT", "MAGENT_PERMISSION", "MAGENT_STATE_DIR")
"""Settings of the person that would change the story."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The sample project and what belongs to it, in a folder of its own."""

    folder: Path
    model: str
    recorded: bool
    environ: Mapping[str, str]
    log: Path

    @property
    def python(self) -> str:
        """How a shell calls this Python."""
        return Path(sys.executable).name

    def test(self) -> tuple[bool, str]:
        """Run the project's tests: whether they pass, and what they print."""
        words = [sys.executable, "-m", "unittest"]
        done = subprocess.run(words, cwd=self.folder, env=dict(self.environ), capture_output=True, text=True)
        return done.returncode == 0, done.stderr


@contextmanager
def sample_project(model: str | None, *, keep: bool) -> Iterator[Sample]:
    """A copy of the sample project with a state dir of its own; removed at the end unless kept."""
    home = Path(tempfile.mkdtemp(prefix="magent-demo-")).resolve()
    try:
        folder = home / "project"
        package = files("magent_lsp.headless")
        with as_file(package / "demo_project") as source:
            shutil.copytree(source, folder, ignore=shutil.ignore_patterns("__pycache__"))
        script = home / "model.yaml"
        said = (package / "demo_script.yaml").read_text(encoding="utf-8")
        script.write_text(said.replace("PYTHON", Path(sys.executable).name), encoding="utf-8")
        yield Sample(
            folder=folder,
            model=model or f"scripted:{script}",
            recorded=model is None,
            environ=_environment(home, recorded=model is None),
            log=home / "server.log",
        )
    finally:
        if not keep:
            shutil.rmtree(home, ignore_errors=True)


def _environment(home: Path, *, recorded: bool) -> dict[str, str]:
    """The person's environment; without their settings, but for what a real model may need."""
    ours = {name for name in os.environ if name.startswith("MAGENT_") and (recorded or name in _OURS)}
    environ = {name: value for name, value in os.environ.items() if name not in ours}
    if recorded:
        environ["MAGENT_CONFIG"] = str(home / "config" / "config.yaml")
    environ["MAGENT_STATE_DIR"] = str(home / "state")
    # The commands of the agent find this Python, and leave no caches behind.
    environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environ.get("PATH", os.defpath)])
    environ["PYTHONDONTWRITEBYTECODE"] = "1"
    return environ
