"""Builds and installs the extension as a person would get it, and finds what `install.sh` installed."""

import os
import shutil
import subprocess
from pathlib import Path

from clients.vscode.pack import pack
from tests.support.editors import REPOSITORY, missing, need

SOURCE = REPOSITORY / "clients/vscode"
CODE_SERVER = "code-server-4.100.3"
HOW = "tests/clients/vscode/install.sh"


def cache() -> Path:
    """The folder of `install.sh`."""
    named = os.environ.get("MAGENT_CI_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "magent-lsp-ci"


def entry() -> Path:
    """The program of code-server."""
    folder = cache() / CODE_SERVER
    if not (folder / "complete").exists():
        missing("code-server", HOW)
    return folder / "node_modules/code-server/out/node/entry.js"


def packages() -> Path:
    """What the extension is built with."""
    folder = cache() / "vscode-extension/node_modules"
    if not folder.is_dir():
        missing("the extension's npm packages", HOW)
    return folder


def copy_of_source(folder: Path) -> Path:
    """The extension's source in a folder of its own, with the packages it is built with."""
    shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("node_modules", "dist", "*.vsix"))
    (folder / "node_modules").symlink_to(packages())
    return folder


def esbuild(source: Path, target: Path, *options: str) -> None:
    """Make one CommonJS file of a source and what it imports."""
    program = packages() / ".bin/esbuild"
    command = [str(program), str(source), "--bundle", "--platform=node", "--format=cjs", *options]
    subprocess.run([*command, f"--outfile={target}"], check=True, capture_output=True, timeout=60)


def npm(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script of package.json."""
    command = [need("npm", "install Node.js 20"), "run", "--silent", script]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=110, check=False)


def make_vsix(folder: Path) -> Path:
    """The package of the extension, built from its source."""
    source = copy_of_source(folder / "source")
    done = npm(source, "build")
    assert done.returncode == 0, done.stderr
    return pack(folder / "magent-lsp.vsix", here=source)


def install(vsix: Path, extensions: Path) -> None:
    """Install a package into a folder of extensions."""
    home = extensions.parent / "home"
    home.mkdir()
    command = ["node", str(entry()), "--user-data-dir", str(extensions.parent / "data")]
    command += ["--extensions-dir", str(extensions), "--install-extension", str(vsix)]
    env = {**os.environ, "HOME": str(home), "EXTENSIONS_GALLERY": '{"serviceUrl":""}'}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
