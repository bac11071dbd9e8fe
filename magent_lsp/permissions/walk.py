"""The walk over the parser's tree, in the order in which the shell would run it: iterative and bounded."""

import re
from typing import TYPE_CHECKING, Final

from magent_lsp.permissions.arithmetic import EVALUATED, evaluated, hidden_code
from magent_lsp.permissions.assignments import HARMLESS_NAMES, assigned, own_file, sets_unseen
from magent_lsp.permissions.conditions import compares, condition, files
from magent_lsp.permissions.line import (
    MAX_ATOMS,
    MAX_LEVELS,
    MAX_NODES,
    Command,
    Folders,
    Line,
    Target,
    after_move,
)
from magent_lsp.permissions.nodes import (
    BLOCKS,
    BRANCHES,
    KEYWORDS,
    KNOWN,
    LEVELS,
    REPEATED,
    SCOPES,
    SEEN,
    STRUCTURE,
)
from magent_lsp.permissions.words import decode

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_FOLDERS: Final = 6
"""With more folders in which the shell may be, it is not known in which it is."""
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
_BLANK: Final = re.compile(rb"(?:[ \t\n]|\\\n)*")
_HIDDEN: Final = re.compile(rb"(?<!\\)(?:\\\\)*(?:\$[(\[]|`|\$\{(?!\w+\}))")
"""A substitution that does more than to insert the value of a variable."""
_MOVES: Final = re.compile(r"(?<![\w-])(?:cd|pushd|popd|chdir)(?![\w-])")
_DELIMITER: Final = re.compile(r"\\?[\w.-]+|'[^'\"\\\n]+'|\"[^'\"\\\n$`]+\"")


class Walk:
    """One walk over a tree, in the order in which the shell would run it."""

    def __init__(self, source: bytes, folders: Folders, line: Line) -> None:
        self.source = source
        self.line = line
        self.folders: Folders = folders
        self.before: Folders = frozenset()
        """Folders that hold if a `cd` of the current statement failed."""
        self.saved: list[Folders] = []
        self.levels = 0
        self.extra: dict[int, list[Node]] = {}
        """Arguments written behind a redirect, by the command they belong to."""
        self.seen = 0
        """Up to where the parser's substitutions and texts were looked at."""
        self.fed: set[int] = set()
        """Commands whose input comes from a pipe, a file or a here document."""

    def run(self, root: "Node") -> None:
        """Visit every node once."""
        todo: list[tuple[Node, bool, str]] = [(root, True, "")]
        count = 0
        while todo:
            node, entering, around = todo.pop()
            if not entering:
                self.leave(node, around)
                continue
            count += 1
            if count > MAX_NODES or len(self.line.commands) > MAX_ATOMS:
                self.line.problem(f"The command has more than {MAX_ATOMS} parts.")
                return
            self.enter(node)
            todo.append((node, False, around))
            children = node.children
            todo.extend((child, True, node.type) for child in reversed(children))
            if not children and node.type in SEEN:
                self.left_out(node.start_byte)
                self.seen = node.end_byte
        self.left_out(len(self.source))

    def left_out(self, end: int) -> None:
        """Whether there is a substitution up to a place, and behind the last one that the parser has seen."""
        if _HIDDEN.search(self.source, self.seen, end):
            self.line.problem("The parser left out a substitution.")

    def enter(self, node: "Node") -> None:
        """Take note of a node before its children."""
        kind = node.type
        if not node.is_named:
            self.operator(node)
            return
        if kind not in KNOWN or node.is_missing:
            self.line.problem(
                "The command is not valid shell."
                if kind == "ERROR"
                else f"The shell's {kind!r} is not understood."
            )
        if kind in STRUCTURE and not self.covered(node):
            self.line.problem("The parser left out a part of the command.")
        if kind in LEVELS:
            self.levels += 1
            if self.levels > MAX_LEVELS:
                self.line.problem(f"The command is nested more than {MAX_LEVELS} levels deep.")
        if kind in SCOPES or kind in BRANCHES:
            self.saved.append(self.folders)
        if kind in REPEATED and _MOVES.search(self.text(node)):
            self.folders |= {None}
        if kind in EVALUATED:
            self.evaluated(node)
        visit = getattr(self, f"see_{kind}", None)
        if visit is not None:
            visit(node)

    def evaluated(self, node: "Node") -> None:
        """What the shell reads once more as arithmetic."""
        if node.type == "c_style_for_statement":
            begin = next((child.end_byte for child in node.children if child.type == "(("), node.start_byte)
            end = next((child.start_byte for child in node.children if child.type == "))"), node.end_byte)
            text: str | None = self.span(begin, end)
        else:
            text = evaluated(node.type, self.text(node))
        if text is not None and not self.line.names.add(text):
            self.line.problem("Arithmetic may run or set what a value holds.")
        if node.type == "expansion" and hidden_code(self.text(node)):
            self.line.problem("An expansion may run a command that a text holds.")

    def covered(self, node: "Node") -> bool:
        """Whether nothing but blanks lies between the parts of a node: what is left out is not judged."""
        whole = node.type == "program"
        at, end = (0, len(self.source)) if whole else (node.start_byte, node.end_byte)
        for child in node.children:
            if child.start_byte > at and not _BLANK.fullmatch(self.source, at, child.start_byte):
                return False
            at = max(at, child.end_byte)
        return at >= end or _BLANK.fullmatch(self.source, at, end) is not None

    def see_negated_command(self, node: "Node") -> None:
        """`! a` turns the result around, `!a` is a name."""
        if self.source[node.start_byte + 1 : node.start_byte + 2] not in (b" ", b"\t", b"("):
            self.line.problem("A `!` without a blank is part of a name.")

    def leave(self, node: "Node", around: str) -> None:
        """Take note of a node after its children; `around`: the kind of its parent, which is slow to ask."""
        kind = node.type
        if kind in LEVELS and node.is_named:
            self.levels -= 1
        if kind in SCOPES and node.is_named:
            self.folders = self.saved.pop()
        elif kind in BRANCHES and node.is_named:
            self.folders |= self.saved.pop()
        if kind == "command":
            self.move(node)
        if node.is_named and around in BLOCKS:
            self.folders |= self.before
            self.before = frozenset()

    def operator(self, node: "Node") -> None:
        """An operator between commands."""
        if node.type == "||":
            self.folders |= self.before
        elif node.type in ("|", "|&") and self.saved:
            self.folders = self.saved[-1]
        elif node.type in ("elif", "else", "then") and self.saved:
            self.folders |= self.saved[-1]

    def text(self, node: "Node") -> str:
        """The source of a node."""
        return self.span(node.start_byte, node.end_byte)

    def span(self, start: int, end: int) -> str:
        """A part of the source."""
        return self.source[start:end].decode("utf-8", "surrogatepass")

    # What each kind of node tells.

    def see_redirected_statement(self, node: "Node") -> None:
        """Arguments may stand behind a redirect: `rm >x y` is `rm y >x`."""
        body = node.child_by_field_name("body")
        redirects = node.children_by_field_name("redirect")
        extra = [word for redirect in redirects for word in self.behind(redirect)]
        while (
            body is not None and body.type in ("pipeline", "list", "negated_command") and body.named_children
        ):
            body = body.named_children[-1]
        if extra and body is not None and body.type == "command":
            self.extra[body.id] = extra
        elif extra:
            self.add_command(extra, piped=True)
        if body is not None and any(self.feeds(redirect) for redirect in redirects):
            self.fed.add(body.id)

    def behind(self, redirect: "Node") -> list["Node"]:
        """The words behind a redirect that are no part of it."""
        if redirect.type == "file_redirect":
            inner = redirect.children_by_field_name("destination")[1:]
        else:
            inner = redirect.children_by_field_name("argument")
        nested = redirect.children_by_field_name("redirect")
        return [*inner, *(word for other in nested for word in self.behind(other))]

    def feeds(self, redirect: "Node") -> bool:
        """Whether a redirect gives a command its input."""
        return redirect.type != "file_redirect" or any(
            child.type in ("<", "<>") for child in redirect.children
        )

    def see_pipeline(self, node: "Node") -> None:
        """All commands but the first read from the pipe."""
        for child in node.named_children[1:]:
            self.fed.add(child.id)
            body = child.child_by_field_name("body")
            if body is not None:
                self.fed.add(body.id)

    def see_command(self, node: "Node") -> None:
        """A simple command."""
        name = node.child_by_field_name("name")
        words = [name] if name is not None else []
        words += node.children_by_field_name("argument") + self.extra.pop(node.id, [])
        redirects = node.children_by_field_name("redirect")
        behind = [word for redirect in redirects for word in self.behind(redirect)]
        if behind:
            words = sorted(words + behind, key=lambda each: each.start_byte)
        if words:
            self.add_command(words, piped=node.id in self.fed or any(map(self.feeds, redirects)))

    def add_command(self, nodes: list["Node"], *, piped: bool) -> None:
        """Decode the words of a command; neighbours without a blank between are one word."""
        spans: list[tuple[int, int]] = []
        for node in nodes:
            if spans and spans[-1][1] == node.start_byte:
                spans[-1] = (spans[-1][0], node.end_byte)
            else:
                spans.append((node.start_byte, node.end_byte))
        words = tuple(decode(self.span(start, end)) for start, end in spans)
        if any(word.odd for word in words):
            self.line.problem("A word of the command holds unquoted signs of the shell.")
        if words and _ASSIGNMENT.match(self.text(nodes[0])):
            self.line.problem(f"`{words[0].text[:40]}` sets a variable, it is not the name of a command.")
        if words and words[0].text in KEYWORDS and words[0].text == self.text(nodes[0]):
            self.line.problem(f"`{words[0].text}` is not the name of a command here.")
        if words and not words[0].literal:
            self.line.problem(f"The name of a command, `{words[0].text[:40]}`, is only known when it runs.")
        if words and sets_unseen(words, self.line.names):
            self.line.problem("A builtin sets, changes or shows variables.")
        self.line.commands.append(Command(words=words, folders=self.folders, piped=piped))

    def see_file_redirect(self, node: "Node") -> None:
        """A file to read or write."""
        self.own_file(node)
        signs = {child.type for child in node.children if not child.is_named}
        targets = node.children_by_field_name("destination")[:1]
        for target in targets:
            if signs & {">&", "<&"} and re.fullmatch(r"\d+|-|\d+-", self.text(target)):
                continue
            write = bool(signs - {"<", "<&"})
            self.line.targets.append(
                Target(
                    word=decode(self.text(target)),
                    write=write,
                    read=bool(signs & {"<", "<>"}),
                    folders=self.folders,
                )
            )

    def own_file(self, node: "Node") -> None:
        """`{x}>file` sets `x`."""
        if self.source.endswith(b"}", 0, node.start_byte) and (
            name := own_file(self.span(0, node.start_byte))
        ):
            self.assign(name)

    def see_herestring_redirect(self, node: "Node") -> None:
        """A text to read."""
        self.own_file(node)

    def see_heredoc_redirect(self, node: "Node") -> None:
        """A here document, whose end must be as sure to us as to the shell."""
        self.own_file(node)
        start = next((child for child in node.children if child.type == "heredoc_start"), None)
        end = next((child for child in node.children if child.type == "heredoc_end"), None)
        body = next((child for child in node.children if child.type == "heredoc_body"), None)
        begin = self.text(start) if start is not None else ""
        if (
            not _DELIMITER.fullmatch(begin)
            or end is None
            or self.text(end) != begin.strip("'\"").removeprefix("\\")
        ):
            self.line.problem("The end of a here document is not certain.")
        quoted = begin[:1] in ("'", '"', "\\")
        text = (
            body is not None
            and not body.children
            and _HIDDEN.search(self.source, body.start_byte, body.end_byte)
        )
        if not quoted and text:
            self.line.problem("A here document may run a command.")

    def see_variable_assignment(self, node: "Node") -> None:
        """A variable that is set."""
        name = node.child_by_field_name("name")
        text = self.text(name) if name is not None else "?"
        if not re.match(r"[A-Za-z_]\w*(?:\[|$)", text):
            self.line.problem(f"`{text[:40]}=…` is no assignment to the shell.")
        value = node.child_by_field_name("value")
        if value is not None:
            text = assigned(text, self.text(value), array=value.type == "array")
        self.assign(text)

    def see_for_statement(self, node: "Node") -> None:
        """A loop sets its variable."""
        name = node.child_by_field_name("variable")
        text = self.text(name) if name is not None else "?"
        values = list(map(self.text, node.children_by_field_name("value")))
        self.line.names.loop(text, values or ["$@"])
        if any(child.type == "select" for child in node.children):
            self.line.problem("A menu waits for an answer.")
        if text.isupper() and len(text) > 1:
            self.assign(text)

    def see_declaration_command(self, node: "Node") -> None:
        """`export`, `declare`, `local` and the like: only plain values of harmless names are understood."""
        for child in node.named_children:
            value = child.child_by_field_name("value") if child.type == "variable_assignment" else None
            if value is None or not decode(self.text(value)).literal:
                self.line.problem("A declaration sets, changes or shows variables.")
            if child.type in ("variable_name", "word", "string", "raw_string"):
                text = self.text(child)
                if not text.startswith("-"):
                    self.assign(text)
        if node.named_child_count == 0:
            self.line.problem("A declaration shows every variable.")

    def see_unset_command(self, node: "Node") -> None:
        """`unset`."""
        self.assign(self.text(node).partition(" ")[2] or "?")

    def assign(self, name: str) -> None:
        """Note that a variable is set."""
        if not HARMLESS_NAMES.fullmatch(name) and name not in self.line.assigned:
            self.line.assigned.append(name)

    def see_command_substitution(self, node: "Node") -> None:
        """In backticks, a backslash before some signs is gone before the command is read."""
        text = self.text(node)
        if text.startswith("`") and re.search(r"\\[`$\\]", text):
            self.line.problem("A command in backticks holds escapes.")
        self.see_subshell(node)

    def see_subshell(self, node: "Node") -> None:
        """`((` that the parser takes for two brackets is arithmetic to the shell, if it can be."""
        if self.text(node).removeprefix("$").startswith("(("):
            self.line.problem("Arithmetic or a subshell: that is not certain.")

    def see_function_definition(self, node: "Node") -> None:
        """A function may stand for any command later in the line."""
        self.line.problem("The command defines a function.")

    def see_expansion(self, node: "Node") -> None:
        """`${…}` can set a variable or run what its value holds."""
        for child in node.children:
            if child.type in ("=", ":="):
                self.assign(self.text(node)[:40])
            elif child.type == "@" or (child.type == "!" and not child.is_named):
                self.line.problem("An expansion reads a variable's value as code.")

    def see_test_command(self, node: "Node") -> None:
        """`[ … ]` is a command like others; of `[[ … ]]` the files and the numbers are looked at."""
        sources = condition(node, self.span)
        if sources is None:
            self.line.problem("The parser reads a test otherwise than the shell.")
            return
        words = tuple(map(decode, sources))
        if sources[0] == "[":
            self.line.commands.append(Command(words=words, folders=self.folders))
            return
        if compares(sources, self.line.names):
            self.line.problem("A test may run or set what a value holds.")
        for file in files(words):
            self.line.targets.append(Target(word=file, write=False, read=True, folders=self.folders))

    def move(self, node: "Node") -> None:
        """Follow `cd` and `pushd`."""
        name = node.child_by_field_name("name")
        if name is None or not self.line.commands:
            return
        program = decode(self.text(name)).text
        if program not in ("cd", "chdir", "pushd", "popd"):
            return
        arguments = [decode(self.text(each)) for each in node.children_by_field_name("argument")]
        self.before |= self.folders
        self.folders = after_move(program, arguments, self.folders)
        if len(self.before | self.folders) > MAX_FOLDERS:
            self.before, self.folders = frozenset(), frozenset({None})
