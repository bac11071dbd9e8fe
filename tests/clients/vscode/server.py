"""The process that serves VS Code, and what a person has set up on its machine."""

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.clients.vscode.build import entry
from tests.support.editors import Desk, wait_until

SETTINGS: dict[str, Any] = {
    "workbench.startupEditor": "none",
    "workbench.colorTheme": "Default Dark Modern",
    "workbench.tips.enabled": False,
    "telemetry.telemetryLevel": "off",
    "chat.disableAIFeatures": True,
    "chat.commandCenter.enabled": False,
    "files.autoSave": "off",
    "extensions.autoUpdate": False,
    "extensions.webWorker": False,
    "editor.minimap.enabled": False,
    "editor.fontSize": 13,
    "window.commandCenter": False,
}

BUILTIN = (
    *("theme-defaults", "theme-seti", "configuration-editing", "json"),
    *("python", "markdown-basics", "markdown-language-features"),
)
"""Of the extensions that come with VS Code, those whose work is seen in the tests: a window loads all."""


class CodeServer:
    """Serves one window after the other; each finds the machine as a person has it who never ran VS Code."""

    def __init__(self, extensions: Path, folder: Path) -> None:
        self.home = folder / "home"
        """The person's; our server's configuration is at the desk."""
        self.program = folder / "programs/magent-lsp"
        """Where our server is, in the first folder on the PATH, unless a test has it elsewhere."""
        self._installed: list[Path] = []
        self._data = folder / "data"
        for new in (self.home, self.program.parent, self._data, folder / "builtin"):
            new.mkdir(parents=True)
        for name in BUILTIN:
            (folder / "builtin" / name).symlink_to(entry().parents[2] / "lib/vscode/extensions" / name)
        path = f"{self.program.parent}:/usr/bin:/bin"
        # VS Code asks the person's shell for the PATH, which would ask the machine's.
        (self.home / ".profile").write_text(f"export PATH={shlex.quote(path)}\n")
        self._log = folder / "code-server.log"
        self._process = self._start(extensions, folder / "builtin", path)
        self.url = self._address()

    def _start(self, extensions: Path, builtin: Path, path: str) -> subprocess.Popen[bytes]:
        node = shutil.which("node")
        assert node is not None
        command = [node, str(entry()), "--auth", "none", "--bind-addr", "127.0.0.1:0"]
        command += ["--user-data-dir", str(self._data), "--extensions-dir", str(extensions)]
        command += ["--builtin-extensions-dir", str(builtin), "--disable-workspace-trust"]
        command += ["--disable-telemetry", "--disable-update-check", "--disable-getting-started-override"]
        env = {name: os.environ[name] for name in ("TMPDIR",) if name in os.environ}
        env |= {"PATH": path, "HOME": str(self.home), "LANG": "C.UTF-8"}
        env |= {"EXTENSIONS_GALLERY": '{"serviceUrl":""}'}
        with self._log.open("w") as log:
            return subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _address(self) -> str:
        found: list[str] = []

        def listening() -> bool:
            text = self._log.read_text()
            assert self._process.poll() is None, text
            found[:] = re.findall(r"listening on (http://\S+?)/?\s", text)
            return bool(found)

        wait_until(listening, 60, "code-server listens")
        return found[0]

    def prepare(
        self, desk: Desk, settings: Mapping[str, Any], program: Path | None, workspace: Path | None
    ) -> str:
        """Set the machine up anew, with our server at `program` or nowhere; the address of a window there."""
        # Where VS Code looks for a person's settings changed between its versions.
        for place in ("User", "Machine"):
            shutil.rmtree(self._data / place, ignore_errors=True)
            (self._data / place).mkdir()
            (self._data / place / "settings.json").write_text(json.dumps({**SETTINGS, **settings}))
        while self._installed:
            self._installed.pop().unlink()
        if program is not None:
            self.install(desk, program)
        place = f"workspace={quote(str(workspace))}" if workspace else f"folder={quote(str(desk.root))}"
        return f"{self.url}/?{place}"

    def install(self, desk: Desk, program: Path) -> None:
        """Put our server somewhere; it runs in the environment of the desk, whatever VS Code has."""
        self._installed.append(program)
        program.parent.mkdir(parents=True, exist_ok=True)
        environment = [f"{name}={value}" for name, value in desk.env.items()]
        command = shlex.join(["env", "-i", *environment, *desk.server[:-1]])
        program.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        program.chmod(0o755)

    def close(self) -> None:
        """End it and what it started."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
