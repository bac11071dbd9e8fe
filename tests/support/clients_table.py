"""What each client can do, with the place in its code that shows it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).parents[2]
FOLDERS = {
    "emacs": ("clients/emacs", "*.el"),
    "neovim": ("clients/neovim", "*.lua"),
    "vscode": ("clients/vscode", "*.[jt]s*"),
    "stock": ("magent_lsp/lsp", "*.py"),
}
"""Each column, and where its evidence is: a stock client has what the server offers everybody."""

OFFERED = ("magent_lsp/lsp", "actions.py")
"""What a stock client can be offered at all; its absences are looked for here."""

HEADS = ("", "Emacs", "Neovim", "VS Code", "any language client")


class Cell(NamedTuple):
    """What a client has, and a regular expression that finds it in the client's code."""

    says: str
    evidence: str


@dataclass(frozen=True)
class Without:
    """What a client has not; nothing in its code may look as if."""

    absent: str


@dataclass(frozen=True)
class Row:
    """One feature."""

    name: str
    emacs: Cell | Without
    neovim: Cell | Without
    vscode: Cell | Without
    stock: Cell | Without


ROWS = (
    Row(
        "Needs",
        Cell("Emacs 28", r'Package-Requires: \(\(emacs "28\.1"\)\)'),
        Cell("Neovim 0.10", r"has\('nvim-0\.10'\)"),
        Cell("VS Code 1.91", r'"vscode": "\^1\.91'),
        Cell("LSP 3", r"LanguageServer"),
    ),
    Row(
        "Beside other servers",
        Cell("a connection of its own", r"defclass magent-lsp-connection \(jsonrpc-process-connection\)"),
        Cell("one more client", r"vim\.lsp\.start\("),
        Cell("one more client", r"extends LanguageClient"),
        Cell("as the client allows", r"CodeActionOptions"),
    ),
    Row(
        "Prompt",
        Cell("`C-c m m`", r'"m"\) #\'magent-lsp-prompt\)'),
        Cell("`:Magent prompt`, `:Magent`", r"prompt = \{ 'say something"),
        Cell("`Alt+M p`, the chat", r'"key": "alt\+m p"'),
        Cell("in a chat document", r"magent\.send"),
    ),
    Row(
        "Change only the selected lines",
        Cell("`C-c m r`", r':scope "region"'),
        Cell("`:Magent edit`", r"scope = arguments\.bang and"),
        Cell("`Alt+M e`", r'scope: .*"region"'),
        Without(r'"scope"'),
    ),
    Row(
        "Ask at the cursor",
        Cell("`C-c m q`", r'"q"\) #\'magent-lsp-ask\)'),
        Cell("`:Magent ask`", r"ask = \{ 'ask about the cursor"),
        Cell("`Alt+M a`", r'"key": "alt\+m a"'),
        Cell("action *Explain*", r'"Explain", QUICK_FIX'),
    ),
    Row(
        "Code actions",
        Cell("`C-c m .`", r":textDocument/codeAction"),
        Cell("`gra`", r"'magent-lsp', 'serve'"),
        Cell("`Ctrl+.`", r"provideCodeActions"),
        Cell("yes", r"def answer\(self, params: types\.CodeActionParams"),
    ),
    Row(
        "Choose agent and model",
        Cell("`C-c m a`, `C-c m M`", r'"M"\) #\'magent-lsp-choose-model\)'),
        Cell("`:Magent agents`, `models`", r"function M\.models\("),
        Cell("in the chat, the palette", r"pickModel: \(\) =>"),
        Cell("settings", r"section: Mapping\[str, Any\]"),
    ),
    Row(
        "Conversation",
        Cell("a buffer, streamed", r"eql 'text_delta"),
        Cell("a split, streamed", r"'text_delta'"),
        Cell("the chat, streamed", r'case "text_delta"'),
        Cell("a chat document", r'"Open chat", SOURCE'),
    ),
    Row(
        "What tools did",
        Cell("folded, with the diff", r"magent-lsp--show-fold"),
        Cell("folded, with the diff", r"folds\.begin"),
        Cell("folded, with the diff", r"function details\("),
        Cell("in chat documents", r"tool lines"),
    ),
    Row(
        "Approval",
        Cell("diff, one key: `y` `!` `a` `n`", r'"!"\) #\'magent-lsp-allow-session\)'),
        Cell("diff, one key: `y` `s` `a` `n`", r"once = 'y',\s+session = 's'"),
        Cell("diff editor, ✓ ✗, the chat", r"vscode\.diff"),
        Cell("dialog, code actions", r'f"\{option\.title\}: \{what\}", QUICK_FIX'),
    ),
    Row(
        "The whole file, before and after",
        Cell("`=`", r'"="\) #\'magent-lsp-compare\)'),
        Cell("`d`", r"compare = 'd'"),
        Cell("the diff editor", r'"magent/showDiff"'),
        Without(r"showDiff"),
    ),
    Row(
        "Refuse with a reason",
        Cell("`e`", r"magent-lsp-reject-with-feedback"),
        Cell("`f`", r"with_feedback\(entry\)"),
        Cell("in the chat", r"rejectSaying"),
        Without(r"feedback"),
    ),
    Row(
        "Questions of the agent",
        Cell("minibuffer, proposals in a buffer", r"magent-lsp-proposal-accept"),
        Cell("`vim.ui`", r"vim\.ui\.input\("),
        Cell("input boxes", r'"magent/input"'),
        Cell("buttons, a document", r"class Questions"),
    ),
    Row(
        "What it does now",
        Cell("mode line", r"defun magent-lsp--lighter"),
        Cell("`status()` for the status line", r"function M\.status\("),
        Cell("status bar, with the cost", r"costUsd\.toFixed"),
        Cell("progress, or messages", r"shows_progress"),
    ),
    Row(
        "Cancel",
        Cell("`C-c m k`; `C-g`", r"magent-lsp-cancel-or-quit"),
        Cell("`:Magent cancel`; `<C-c>`", r"cancel = '<C-c>'"),
        Cell("`Alt+M Esc`; *Stop*", r'"key": "alt\+m escape"'),
        Cell("action *Cancel*", r'"magent\.cancel", \{"runId"'),
    ),
    Row(
        "Tell it something meanwhile",
        Cell("`C-c m t`", r"magent\.steer"),
        Cell("`:Magent steer`", r"'steer', \{ runId"),
        Cell("in the chat", r"magent\.steer"),
        Without(r"magent\.steer"),
    ),
    Row(
        "Saves what had no unsaved text",
        Cell("yes", r"eql 'magent/save"),
        Cell("yes", r"'magent/save'"),
        Cell("yes", r'"magent/save"'),
        Without(r"magent/save"),
    ),
    Row(
        "Take back a run",
        Cell("`C-c m u`", r"magent\.undo"),
        Cell("`:Magent undo`", r"undo = \{ 'take back"),
        Cell("`Alt+M u`, *Undo*", r'"key": "alt\+m u"'),
        Cell("action *Undo*", r'f"Undo: '),
    ),
    Row(
        "Earlier conversations",
        Cell("`C-c m s`", r"magent-lsp-choose-session"),
        Cell("`:Magent sessions`", r"pickers\.sessions"),
        Cell("the clock in the chat", r"magent\.sessions"),
        Without(r"magent\.sessions"),
    ),
    Row(
        "Runs code in the editor, always asked",
        Cell("Emacs Lisp", r"eql 'magent/eval"),
        Cell("Lua", r"'magent/eval'"),
        Without(r"magent/eval"),
        Without(r"magent/eval"),
    ),
    Row(
        "Highlights where it works",
        Cell("overlay", r"defun magent-lsp--highlight"),
        Cell("highlight", r"MagentScope"),
        Cell("highlight", r"createTextEditorDecorationType"),
        Without(r"target_updated"),
    ),
    Row(
        "Completes `/commands`",
        Cell("`TAB`", r"magent\.slashCommands"),
        Cell("`<C-x><C-u>`, `:Magent /`", r"complete_slash"),
        Cell("in the chat", r"magent\.slashCommands"),
        Cell("in chat documents", r"SlashCommand|slash"),
    ),
    Row(
        "What is set up, what is missing",
        Cell("`C-c m d`", r"defun magent-lsp-doctor"),
        Cell("`:checkhealth`, `:Magent doctor`", r"vim\.health\.start"),
        Cell("*What Is Configured*", r'"magent\.doctor"'),
        Cell("`magent-lsp doctor`", r"doctor"),
    ),
    Row(
        "Settings of the server",
        Cell("`magent-lsp-settings`", r"defcustom magent-lsp-settings"),
        Cell("`settings`", r"settings = \{ magent"),
        Cell("all, with descriptions", r'"magentLsp\.maxTurns"'),
        Cell("the section `magent`", r'SECTION\b.*= "magent"'),
    ),
    Row(
        "Finds the server",
        Cell("`PATH`, an option", r"executable-find"),
        Cell("`PATH`, an option", r"executable\(program\)"),
        Cell("setting, Python environment, `PATH`, pipx, uv", r'"UV_TOOL_DIR"'),
        Cell("as the client does", r"magent"),
    ),
)


def rows() -> Iterator[tuple[str, ...]]:
    """The table's lines."""
    for row in ROWS:
        cells = (getattr(row, column) for column in FOLDERS)
        yield row.name, *(cell.says if isinstance(cell, Cell) else "–" for cell in cells)


def sources(folder: str, pattern: str) -> str:
    """All the code of a client."""
    files = sorted((REPOSITORY / folder).rglob(pattern))
    return "\n".join(
        file.read_text(encoding="utf-8")
        for file in files
        if not {"node_modules", "dist", "__pycache__"} & set(file.parts) and file.name != "package-lock.json"
    )


def wrong(row: Row, column: str) -> str:
    """Why a cell is not what the code says; empty if it is."""
    cell = getattr(row, column)
    if isinstance(cell, Without):
        text = sources(*(OFFERED if column == "stock" else FOLDERS[column]))
        return f"{cell.absent!r} is in {column}" if re.search(cell.absent, text) else ""
    text = sources(*FOLDERS[column])
    return "" if re.search(cell.evidence, text) else f"{cell.evidence!r} is not in {column}"
