"""The atoms of a command line: each simple command, each file it names, and what it would run in turn."""

import os.path
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from magent_lsp.core.tool import Subject, Verdict
from magent_lsp.permissions.arithmetic import Names
from magent_lsp.permissions.case import Case, say
from magent_lsp.permissions.conditions import files, test_evaluates
from magent_lsp.permissions.decision import Atom
from magent_lsp.permissions.escapes import Escape, escape_of, has_escapes
from magent_lsp.permissions.file_table import FILE_COMMANDS, NO_FILES, READ_ALL
from magent_lsp.permissions.file_use import FileUse
from magent_lsp.permissions.files import uses
from magent_lsp.permissions.git import destroys
from magent_lsp.permissions.grants import command_grant
from magent_lsp.permissions.layers import Ruling, TextItem, rule_matches
from magent_lsp.permissions.line import MAX_ATOMS, Command, Folders, Line, move_targets
from magent_lsp.permissions.pieces import names_token, pieces, spelled
from magent_lsp.permissions.place import MAX_PATH
from magent_lsp.permissions.reach import links_below, reached
from magent_lsp.permissions.readonly import only_reads
from magent_lsp.permissions.removal import critical_removal
from magent_lsp.permissions.rules import Rule
from magent_lsp.permissions.tables import set_of
from magent_lsp.permissions.words import word
from magent_lsp.permissions.wrappers import Inner, look_through

TOOL: Final = "bash"
CONFINED: Final = "A run that was started on a part of the project may only use commands that read."
NO_ATOMS: Final = set_of("pwd : true false test [ cd pushd popd chdir")
"""Builtins that do nothing by themselves; their paths and substitutions are judged."""
MOVES: Final = frozenset({"cd", "pushd", "chdir"})
HARMLESS_TARGETS: Final = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin"})
MAX_FILES: Final = 100
"""Files that are looked at one by one, links and all; of the rest only a deny by name is found."""
MAX_GLOBS: Final = 40
"""Wildcards of which it is found out what they cover."""
MAX_INNER_CHARS: Final = 20_000
"""Read in all by the shells within the line."""
MAX_INNER: Final = 12
"""Shells within shells."""


def command_atoms(case: Case, text: str) -> list[Atom]:
    """Everything that a command line would do, each with its verdict."""
    reader = _Reader(case, text)
    reader.run()
    return list(dict.fromkeys(reader.atoms))


class _Reader:
    """Turns one command line into atoms."""

    def __init__(self, case: Case, text: str) -> None:
        self.case = case
        self.whole = text
        self.atoms: list[Atom] = []
        self.files = 0
        self.globs = 0
        self.builtins = 0
        """Commands seen that are no atoms; a line with neither does something we do not see."""
        self.looked: set[tuple[str, str, str]] = set()
        """Names that were compared with the denied ones."""
        self.names = Names()
        """Variables in arithmetic, in this line and in those that `eval` reads."""
        self.inner_commands = 0
        self.hidden_too = "dotglob" in text
        self.todo: deque[tuple[str, Folders, int]] = deque([(text, frozenset({str(case.place.cwd)}), 0)])

    def run(self) -> None:
        """Read the line, and the lines that its shells and `eval` would read."""
        parsed = 0
        while self.todo:
            text, folders, level = self.todo.popleft()
            parsed += len(text) if level else 0
            if level > MAX_INNER or parsed > MAX_INNER_CHARS:
                self.unknown("The command runs shells within shells.")
                return
            self.line(self.case.line(text, folders), level)
        if not self.atoms and not self.builtins:
            self.atoms.append(self.ruled(Subject(tool=TOOL, kind="command", value=""), TextItem(text="")))

    def line(self, line: Line, level: int) -> None:
        """One parsed command line."""
        if line.problems:
            for problem in line.problems:
                self.unknown(problem)
            self.suspects(line)
        self.names.join(line.names)
        if self.names.unknown:
            self.unknown("Arithmetic may run or set what a value holds.")
        for name in line.assigned:
            self.unknown(f"The line sets or drops the variable `{name[:60]}`.", sandbox=False)
        for target in line.targets:
            self.file(FileUse(word=target.word, write=target.write, read=target.read), target.folders)
        for command in line.commands:
            self.command(command, level)

    def add(
        self, verdict: Verdict, value: str, reason: str, rule: Rule | None = None, *, protected: bool = False
    ) -> None:
        """Note an atom of the command itself."""
        subject = Subject(tool=TOOL, kind="command", value=value)
        self.atoms.append(
            Atom(subject=subject, verdict=verdict, reason=reason, rule=rule, protected=protected)
        )

    def raised(self, value: str, reason: str) -> None:
        """Note a reason to ask that no broad rule takes away."""
        self.add("ask", value, reason)

    def unknown(self, problem: str, *, sandbox: bool = True) -> None:
        """What cannot be analysed asks, except in the sandbox, where the rules alone decide."""
        ruling = self.case.ruling(TOOL, TextItem(text="\0", literal=False))
        verdict = ruling.verdict
        if self.case.policy.confined:
            verdict = "deny"
        elif verdict == "allow" and not (sandbox and self.case.policy.sandboxed):
            verdict = "ask"
        self.add(verdict, self.whole[:200], problem, ruling.rule)

    def ruled(self, subject: Subject, item: TextItem) -> Atom:
        """The rules' own verdict on a command."""
        ruling = self.case.ruling(TOOL, item)
        return Atom(subject=subject, verdict=ruling.verdict, reason=say(subject, ruling), rule=ruling.rule)

    # Commands.

    def command(self, command: Command, level: int) -> None:
        """A simple command of the line."""
        words = command.words
        name = base_name(words[0].text)
        if words[0].text in NO_ATOMS:
            self.builtin(words[0].text, command)
            return
        subject = Subject(tool=TOOL, kind="command", value=command.text)
        item = self.item(command, name)
        atom = self.ruled(subject, item)
        for reason, token, protected in self.reasons(command, name, item):
            opened = self.case.opened(TOOL, item) if protected else names_token(atom.rule, token)
            if atom.verdict != "deny" and not opened:
                atom = replace(atom, verdict="ask", reason=reason, protected=atom.protected or protected)
        if self.case.policy.confined and not item.read_only:
            atom = replace(atom, verdict="deny", reason=CONFINED)
        if atom.verdict == "ask" and not atom.protected:
            atom = replace(
                atom,
                grants=command_grant(command, exact=not item.literal or bool(self.escape(command, name))),
            )
        self.atoms.append(atom)
        self.mentioned(command, name)
        self.around(command, name, level)

    def around(self, command: Command, name: str, level: int) -> None:
        """What a command touches or runs beyond itself."""
        for use in uses(name, command):
            self.file(use, command.folders)
        inner = look_through(name, command.words)
        if inner is not None:
            self.inner(inner, command, level)
        if name in READ_ALL and self.case.narrow("read_file"):
            self.raised(command.text, "The files that it reads are only known when it runs.")

    def item(self, command: Command, name: str) -> TextItem:
        """A command as patterns see it."""
        words = command.words
        texts = [each.text for each in words]
        loose = has_escapes(name) and any(each.loose_start for each in words[1:])
        known = all(each.exact for each in words) and words[0].literal and not loose
        plain = bool(texts[0]) and not any(sign.isspace() for sign in texts[0])
        spellings = (" ".join([name, *texts[1:]]),) if name != texts[0] else ()
        return TextItem(
            text=command.text,
            spellings=spellings,
            literal=known and plain,
            read_only=known and plain and only_reads(texts, piped=command.piped),
            fold=self.case.place.case_insensitive,
        )

    def escape(self, command: Command, name: str) -> Escape | None:
        """The first dangerous flag."""
        return escape_of(name, list(spelled(command)), piped=command.piped)

    def reasons(self, command: Command, name: str, item: TextItem) -> Iterator[tuple[str, str, bool]]:
        """Why a broad rule does not allow it: a sentence, the flag to name, whether it is always asked."""
        texts = [each.text for each in command.words]
        escape = self.escape(command, name)
        if escape is not None and not (escape.code and self.case.policy.sandboxed):
            yield (
                f"`{escape.token[:60]}` of `{name}` can write, delete or run something.",
                escape.token,
                False,
            )
        if name == "git":
            loss = destroys(texts)
            if loss:
                yield f"`{command.text[:200]}` is always asked: {loss}.", "", True
            if any(folder is None or not self.at_home(folder) for folder in command.folders):
                yield "git may run what the configuration of another folder says.", "", False
        removal = critical_removal(name, command, self.case.map)
        if removal:
            yield removal, "", True

    def at_home(self, folder: str) -> bool:
        """Whether a folder is where the run works: its repository was chosen by the person."""
        wanted = self.case.map.locate(folder).forms
        places = {str(self.case.place.cwd), *map(str, self.case.place.folders)}
        return bool(wanted) and wanted[0].path in places

    def builtin(self, name: str, command: Command) -> None:
        """A builtin that is no atom: its paths are judged."""
        self.builtins += 1
        if name in MOVES:
            for target in list(move_targets(list(command.words[1:]))) or [word("~")]:
                if target.text in ("-",) and target.literal:
                    continue
                self.file(FileUse(word=target, write=False, read=True), command.folders)
        elif name in ("test", "["):
            self.test(command)
        if any(
            "`" in each.text or "$(" in each.text
            for each in command.words[1:]
            if each.exact and "[" in each.text
        ):
            self.unknown("A test may run a command that a text holds.")

    def test(self, command: Command) -> None:
        """`test -f FILE`, `test A -nt B`."""
        words = command.words[: -1 if command.words[0].text == "[" else None]
        if test_evaluates(words[1:], self.names.numbers):
            self.unknown("A test may run or set what a value holds.")
        for file in files(words):
            self.file(FileUse(word=file, write=False, read=True), command.folders)

    # Commands within commands.

    def inner(self, inner: Inner, outer: Command, level: int) -> None:
        """What a wrapper runs: of its rules only a deny counts."""
        if inner.problem:
            self.unknown(inner.problem)
        for text in inner.texts:
            self.todo.append((text, outer.folders, level + 1))
        if level >= MAX_INNER:
            self.unknown("The command runs commands within commands.")
            return
        for words in inner.commands:
            self.inner_commands += 1
            if self.inner_commands > MAX_ATOMS:
                self.unknown("The command runs commands within commands.")
                return
            self.wrapped(
                Command(words=words, folders=outer.folders, piped=outer.piped or inner.more), level + 1
            )

    def wrapped(self, command: Command, level: int) -> None:
        """A command that another one would run."""
        name = base_name(command.words[0].text)
        item = self.item(command, name)
        subject = Subject(tool=TOOL, kind="command", value=command.text)
        atom = self.ruled(subject, item)
        if atom.verdict == "deny" and atom.rule is not None:
            self.atoms.append(atom)
        if not command.words[0].literal:
            self.unknown(
                f"The name of a command, `{command.words[0].text[:40]}`, is only known when it runs."
            )
        for reason, _, protected in self.reasons(command, name, item):
            if not (protected and self.case.opened(TOOL, item)):
                self.add("ask", command.text, reason, protected=protected)
        self.around(command, name, level)

    def suspects(self, line: Line) -> None:
        """Where the grammar failed, a deny of what looks like a command still counts."""
        rules = self.case.narrow(TOOL)
        if not rules:
            return
        for texts in line.suspects:
            words = tuple(map(word, texts))
            for _ in range(4):
                if not words:
                    break
                name = base_name(words[0].text)
                item = self.item(Command(words=words, folders=frozenset()), name)
                ruling = self.deny_of(item, rules)
                if ruling is not None:
                    text = " ".join(each.text for each in words)
                    self.add(
                        "deny", text, say(Subject(tool=TOOL, kind="command", value=text), ruling), ruling.rule
                    )
                    return
                inner = look_through(name, words)
                words = inner.commands[0] if inner is not None and inner.commands else ()

    def deny_of(self, item: TextItem, rules: list[Rule]) -> Ruling | None:
        """The deny of a command, if one of these rules may give it."""
        if not any(rule.verdict == "deny" and rule_matches(rule, item) for rule in rules):
            return None
        ruling = self.case.ruling(TOOL, item)
        return ruling if ruling.verdict == "deny" else None

    # Files.

    def file(self, use: FileUse, folders: Folders) -> None:
        """A file that the line reads or writes."""
        text = use.word.text
        if use.word.literal and (text in HARMLESS_TARGETS or text == "-"):
            return
        if not text:
            return
        if len(text) > MAX_PATH:
            self.raised(text[:200], "A word of the command is longer than the name of any file.")
            return
        self.files += 1
        tools = [*(["read_file"] if use.read else []), *(["edit_file", "write_file"] if use.write else [])]
        for folder in sorted(folders, key=str):
            for tool in tools:
                self.touch(tool, use, folder)
        if not use.word.exact:
            self.raised(text, f"`{text[:60]}` is only known when it runs.")
        elif None in folders and not text.startswith(("/", "~")):
            self.raised(text, f"In which folder `{text[:60]}` lies is only known when it runs.")
        elif text.startswith("~") and text[1:2] not in ("", "/"):
            self.raised(text, f"`{text[:60]}` lies in another person's home.")
        if use.write and self.case.policy.confined:
            self.add("deny", text, CONFINED)

    def touch(self, tool: str, use: FileUse, folder: str | None) -> None:
        """One tool's verdict on a file, and on what a wildcard or a whole folder covers."""
        where = folder if folder is not None else str(self.case.place.cwd)
        if self.files > MAX_FILES:
            if self.files == MAX_FILES + 1:
                self.unknown(f"The command names more than {MAX_FILES} files.")
            self.denied_by_name(use.word.text, where, tool)
            return
        if where == "~" or where.startswith("~/"):
            where = str(self.case.place.home) + where[1:]
        if (found := reached(use, where, self.case.map)) is None:
            return
        use = found
        self.atoms.append(self.case.file(tool, use.word.text, where))
        if use.word.wild and use.word.exact:
            self.links(tool, use, where)
        if use.word.wild or use.deep or not use.word.exact:
            self.globs += 1
            if self.globs > MAX_GLOBS:
                self.raised(self.whole[:200], f"The command holds more than {MAX_GLOBS} wildcards.")
                return
            glob = use.word.glob or use.word.text
            rule = self.case.covered(tool, glob, where, deep=use.deep, dots=self.hidden_too or use.deep)
            if rule is not None:
                self.add(
                    "ask", use.word.text, f"`{use.word.text[:60]}` may cover what {rule} speaks of.", rule
                )

    def links(self, tool: str, use: FileUse, where: str) -> None:
        """A wildcard covers links by other names than those of what they lead to."""
        found = links_below(use.word.glob, where, self.case.map, dots=self.hidden_too)
        if found is None:
            self.raised(use.word.text, f"`{use.word.text[:60]}` covers more than can be looked at.")
        self.atoms += [self.case.file(tool, each, where) for each in found or ()]

    def mentioned(self, command: Command, name: str) -> None:
        """Files of a deny that are named to a command of which we do not know what it does with them."""
        if name in NO_FILES or not self.case.narrow("read_file"):
            return
        known = name in FILE_COMMANDS and FILE_COMMANDS[name].role == "read"
        for each in command.words[1:]:
            for text in pieces(each, known):
                for folder in command.folders:
                    self.denied_by_name(text, folder or str(self.case.place.cwd), "read_file", command.text)

    def denied_by_name(self, text: str, folder: str, tool: str, shown: str = "") -> None:
        """Ask, or deny, for a file that a particular rule denies by its name."""
        key = (text, folder, tool)
        if not text or "\0" in text or len(text) > 4_096 or key in self.looked:
            return
        self.looked.add(key)
        expanded = self.case.map.expand(text, folder)
        form = self.case.map.form(normal(expanded), real=False, folder=False)
        if not self.case.may_deny(tool, form.item):
            return
        ruling = self.case.ruling(tool, form.item)
        if ruling.verdict == "deny":
            reason = say(Subject(tool=tool, kind="path", value=text), ruling)
            self.add("ask" if shown else "deny", shown or text, reason, ruling.rule)


def base_name(text: str) -> str:
    """The last part of a program's path."""
    return text.rstrip("/").rpartition("/")[2] or text


def normal(path: str) -> str:
    """A path tidied by its text alone."""
    return os.path.normpath(path)
