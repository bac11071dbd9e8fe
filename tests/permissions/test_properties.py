"""What must hold for every set of rules and every text, not only for those we thought of."""

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magent_lsp.core.tool import Subject
from magent_lsp.permissions.judge import judge
from magent_lsp.permissions.rules import STRICTNESS, Layer, LayerName, Policy, Rule, Source
from tests.benchmarks.bench_permissions import HOSTILE, HOSTILE_BOUND
from tests.support.permissions import FIXTURE, bash, place, policy

quick = settings(max_examples=150)

SOURCE = Source(name="x")
VERDICTS = st.sampled_from(["allow", "ask", "deny"])
COMMAND_PATTERNS = st.sampled_from(
    ["*", "git *", "git status *", "git push *", "rm *", "ls *", "* x", "make", "cat *", "@read-only", "g*"]
)
PATH_PATTERNS = st.sampled_from(
    ["*", "src/**", "*.py", ".env", "./a.py", "/ws/src", "/etc/*", "~/x", "s*", "[ab].py"]
)
NAMES: st.SearchStrategy[LayerName] = st.sampled_from(
    ["default", "agent", "user", "project", "client", "environment", "grant"]
)


@st.composite
def _rules(draw: st.DrawFn) -> Rule:
    tool = draw(st.sampled_from(["bash", "read_file", "edit_file", "write_file", "*"]))
    pattern = draw(COMMAND_PATTERNS if tool == "bash" else PATH_PATTERNS)
    return Rule(tool=tool, pattern=pattern, verdict=draw(VERDICTS), source=SOURCE)


@st.composite
def _policies(draw: st.DrawFn) -> Policy:
    layers = [
        Layer(
            name=draw(NAMES), rules=tuple(draw(st.lists(_rules(), max_size=6))), trusted=draw(st.booleans())
        )
        for _ in range(draw(st.integers(0, 4)))
    ]
    return Policy(layers=tuple(layers))


SIMPLE = st.sampled_from(
    [
        "git status",
        "git push",
        "rm x",
        "ls -la",
        "cat .env",
        "cat a.py",
        "echo a > src/x",
        "make",
        "a x",
        "cat /etc/x",
    ]
)
COMMANDS = st.lists(SIMPLE, min_size=1, max_size=4).flatmap(
    lambda parts: st.sampled_from([" && ", "; ", " | ", "\n"]).map(lambda separator: separator.join(parts))
)
PATHS = st.sampled_from(["a.py", "src/a.py", ".env", "/etc/x", "~/x", "../x", "src", "b"])
SUBJECTS = st.one_of(
    COMMANDS.map(lambda text: Subject(tool="bash", kind="command", value=text)),
    st.tuples(st.sampled_from(["read_file", "edit_file", "write_file"]), PATHS).map(
        lambda pair: Subject(tool=pair[0], kind="path", value=pair[1])
    ),
)


def _verdict(subject: Subject, rules: Policy) -> int:
    return STRICTNESS[judge([subject], rules, place()).verdict]


@quick
@given(_policies(), SUBJECTS, _rules(), NAMES.filter(lambda name: name != "default"))
def test_one_more_deny_in_its_own_layer_never_loosens(
    rules: Policy, subject: Subject, rule: Rule, name: LayerName
) -> None:
    deny = Rule(tool=rule.tool, pattern=rule.pattern, verdict="deny", source=SOURCE)
    more = Policy(layers=(*rules.layers, Layer(name=name, rules=(deny,))))
    assert _verdict(subject, more) >= _verdict(subject, rules)


@quick
@given(_policies(), SUBJECTS, st.randoms(use_true_random=False))
def test_the_order_of_rules_changes_nothing(rules: Policy, subject: Subject, random: Any) -> None:
    layers = []
    for layer in rules.layers:
        shuffled = list(layer.rules)
        random.shuffle(shuffled)
        layers.append(Layer(name=layer.name, rules=tuple(shuffled), trusted=layer.trusted))
    assert _verdict(subject, Policy(layers=tuple(layers))) == _verdict(subject, rules)


@quick
@given(_policies(), _policies(), SUBJECTS)
def test_a_child_never_exceeds_its_parent(parent: Policy, child: Policy, subject: Subject) -> None:
    both = Policy(layers=child.layers, parent=parent)
    assert _verdict(subject, both) >= max(_verdict(subject, parent), 0)
    assert _verdict(subject, both) >= _verdict(subject, child)


@quick
@given(_policies(), st.lists(SUBJECTS, min_size=1, max_size=3))
def test_a_call_is_as_strict_as_its_strictest_part(rules: Policy, subjects: list[Subject]) -> None:
    whole = judge(subjects, rules, place())
    assert STRICTNESS[whole.verdict] == max(_verdict(subject, rules) for subject in subjects)


@quick
@given(_policies(), SUBJECTS)
def test_what_a_grant_promises_it_keeps(rules: Policy, subject: Subject) -> None:
    decision = judge([subject], rules, place())
    if not decision.grants:
        return
    assert decision.verdict == "ask"
    granted = Policy(layers=(*rules.layers, Layer(name="grant", rules=decision.grants)))
    assert judge([subject], granted, place()).verdict == "allow"


FRAMES = st.recursive(
    st.just("rm x"),
    lambda inner: st.one_of(
        inner.map(lambda text: f"ls && {text}"),
        inner.map(lambda text: f"{text}; ls"),
        inner.map(lambda text: f"ls | {text}"),
        inner.map(lambda text: f"({text})"),
        inner.map(lambda text: f"{{ {text}; }}"),
        inner.map(lambda text: f"echo $({text})"),
        inner.map(lambda text: f'echo "$({text})"'),
        inner.map(lambda text: f"cat <({text})"),
        inner.map(lambda text: f"if ls; then {text}; fi"),
        inner.map(lambda text: f"for i in a; do {text}; done"),
        inner.map(lambda text: f"while ls; do {text}; done"),
        inner.map(lambda text: f"case a in a) {text};; esac"),
        inner.map(lambda text: f"! {text}"),
        inner.map(lambda text: f"{text} &"),
        inner.map(lambda text: f"f() {{ {text}; }}"),
        inner.map(lambda text: f"[[ -n $({text}) ]]"),
        inner.map(lambda text: f"A=$({text})"),
        inner.map(lambda text: f"echo ${{x:-$({text})}}"),
    ),
    max_leaves=8,
)


@settings(max_examples=60)
@given(FRAMES)
def test_a_denied_command_is_denied_in_every_frame(command: str) -> None:
    assert bash(command).verdict == "deny"


PIECES = [
    *[
        "$(",
        ")",
        "`",
        '"',
        "'",
        "{",
        "}",
        "((",
        "))",
        "[[",
        "]]",
        "${",
        "if",
        "then",
        "fi",
        "case",
        "in",
        "esac",
        "a",
        "=",
        "|",
        "&",
        "<(",
        ";",
        "$",
        "\\",
        "a[",
        "]",
        "for",
        "do",
        "done",
        "!",
        "*",
        "<<<",
        "#",
    ],
    *(
        " ",
        "\n",
        "rm",
        "git status",
        ".env",
        "~",
        "/etc",
        "> ",
        "2>&1",
        "\t",
        "\r",
        "\0",
        "é",
        "\ud800",
        "<<A\n",
    ),
]
SHELL_TEXT = st.lists(
    st.one_of(
        st.sampled_from(PIECES),
        st.text(max_size=5),
    ),
    max_size=60,
).map("".join)


@settings(max_examples=200)
@given(SHELL_TEXT)
def test_no_command_is_too_strange_to_judge(command: str) -> None:
    assert bash(command).verdict in STRICTNESS
    assert bash(command, policy({"bash": "allow"})).verdict in STRICTNESS


@settings(max_examples=200)
@given(
    st.sampled_from(["read_file", "edit_file", "grep", "fetch", "skill", "mcp__a__b"]), st.text(max_size=40)
)
def test_no_value_is_too_strange_to_judge(tool: str, value: str) -> None:
    for kind in ("path", "url", "name"):
        subject = Subject(tool=tool, kind=kind, value=value)  # type: ignore[arg-type]
        assert judge([subject], policy(FIXTURE), place()).verdict in STRICTNESS


@pytest.mark.timeout(110)
def test_huge_input_ends() -> None:
    for text in (
        "a" * 10_000_000,
        "$(" * 5_000_000,
        "rm x;" * 2_000_000,
        "\0" * 10_000_000,
        "'" * 10_000_000,
    ):
        assert bash(text).verdict in ("ask", "deny")
        for kind in ("path", "url", "name"):
            subject = Subject(tool="read_file", kind=kind, value=text)  # type: ignore[arg-type]
            assert judge([subject], policy(FIXTURE), place()).verdict in STRICTNESS


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_made_to_be_slow_is_not(name: str) -> None:
    """Measured by the processor's time, five times the bound: other programs slow this machine down too."""
    started = time.process_time()
    assert bash(HOSTILE[name]).verdict in ("ask", "deny")
    assert time.process_time() - started < 5 * HOSTILE_BOUND / 1_000


def test_a_folder_that_cannot_be_resolved_asks() -> None:
    def refuse(path: Path) -> Path:
        raise PermissionError(str(path))

    where = place()
    broken = type(where)(folders=where.folders, cwd=where.cwd, home=where.home, resolve=refuse)
    assert judge([Subject(tool="read_file", kind="path", value="a")], policy(), broken).verdict == "ask"
    assert judge([Subject(tool="read_file", kind="path", value=".env")], policy(), broken).verdict == "deny"
