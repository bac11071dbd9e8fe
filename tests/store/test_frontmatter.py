"""Front matter of any origin is read, and what is wrong has the right line."""

from pathlib import Path

import pytest

from magent_lsp.core.errors import ConfigError
from magent_lsp.store.data import parse_json, parse_yaml
from magent_lsp.store.frontmatter import parse_front

HERE = Path("agent.md")


@pytest.mark.parametrize("before", ["", "\ufeff", "\r\n", "\ufeff\r\n\r\n", "\n\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_bom_blank_lines_and_any_line_end(before: str, end: str) -> None:
    text = before + f"---{end}name: a{end}tools: x{end}---{end}{end}first{end}second{end}"
    front = parse_front(text, HERE)
    assert front.values == {"name": "a", "tools": "x"}
    assert front.body == "first\nsecond"
    offset = before.count("\n")
    assert front.data.line("tools") == 3 + offset


def test_a_file_without_front_matter_is_all_body() -> None:
    front = parse_front("\nJust a prompt.\n---\nwith a rule\n", HERE)
    assert (dict(front.values), front.body) == ({}, "Just a prompt.\n---\nwith a rule")


def test_dashes_in_the_body_do_not_end_it() -> None:
    assert parse_front("---\na: 1\n---\none\n---\ntwo\n", HERE).body == "one\n---\ntwo"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("---\nname: a\n", 1, "not closed"),
        ("\r\n\n---\nname: a\n", 3, "not closed"),
        ("---\na: 1\n\tb: 2\n---\n", 3, "tab"),
        ("---\nname: a\npermission:\n  *: ask\n---\n", 4, "quotes"),
        ("---\nname: a\nx: [1,\n---\n", 3, "YAML"),
        ("---\n- a\n- b\n---\n", 2, "key: value"),
        ("---\na: !!python/object:os.system x\n---\n", 2, "tag"),
        ("---\nname: 'a\n---\nbody\n", None, "YAML"),
        ("---\na: &a [*a]\n---\n", 2, "holds itself"),
        ("---\n? [a]\n: b\n---\n", 2, "plain text"),
    ],
)
def test_a_mistake_is_told_with_its_line(text: str, line: int | None, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        parse_front(text, HERE)
    assert caught.value.path == HERE
    if line is not None:
        assert caught.value.line == line


def test_a_key_given_twice_is_reported_and_the_first_counts() -> None:
    front = parse_front("---\nmode: primary\nname: a\nmode: all\n---\nx", HERE)
    assert front.values["mode"] == "primary"
    assert [(p.line, "mode" in p.message) for p in front.problems] == [(4, True)]


def test_descriptions_as_people_write_them_are_taken_as_text() -> None:
    front = parse_front(
        '---\nname: a\ndescription: Use this: it\'s "good"\nargument-hint: [a] [b]\n---\nx', HERE
    )
    assert front.values["description"] == 'Use this: it\'s "good"'
    assert front.values["argument-hint"] == "[a] [b]"
    assert [problem.line for problem in front.problems] == [3]


def test_a_permission_is_never_guessed_at() -> None:
    with pytest.raises(ConfigError):
        parse_front("---\ndescription: ok\npermission:\n  bash: a: b\n---\nx", HERE)


def test_an_alias_bomb_is_refused_before_it_grows() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(ConfigError, match="more than"):
        parse_yaml("\n".join(lines))


def test_dates_times_and_odd_numbers_stay_text() -> None:
    value = parse_yaml("a: 2024-05-01\nb: 12:30:00\nc: .inf\nd: 017\ne: off\n1: x\nno: y\n").value
    assert value == {
        "a": "2024-05-01",
        "b": "12:30:00",
        "c": ".inf",
        "d": 15,
        "e": False,
        "1": "x",
        "no": "y",
    }


def test_merge_keys_take_what_is_not_there() -> None:
    assert parse_yaml("base: &b {x: 1, y: 2}\nc:\n  <<: *b\n  y: 3\n").value["c"] == {"x": 1, "y": 3}


def test_json_knows_lines_with_tabs_and_surrogate_pairs() -> None:
    data = parse_json('{\n\t"a": "\\ud83d\\ude00",\n\t"b": {\n\t\t"c": 1,\n\t\t"c": 2\n\t}\n}')
    assert data.value == {"a": "😀", "b": {"c": 1}}
    assert (data.line("b", "c"), [keys for keys, _ in data.duplicates]) == (4, [("b", "c")])


@pytest.mark.parametrize("text", ['{"a": }', "[1, 2", '{"a": NaN}', "[" * 100_000, "", "{'a': 1}"])
def test_bad_json_is_an_error_and_not_a_crash(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_json(text)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("&a {<<: *a}", "holds itself"),
        ("&a {<<: [*a]}", "holds itself"),
        ("&a [*a]", "holds itself"),
        ("&a {b: &b {<<: *a}}", "holds itself"),
    ],
)
def test_what_holds_itself_is_an_error_and_not_a_crash(value: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        parse_yaml(f"options: {value}")


@pytest.mark.parametrize("number", ["0x" + "f" * 500, "9" * 400, "-" + "9" * 5_000, "1e999", ".inf", ".nan"])
def test_a_number_that_cannot_be_reckoned_with_stays_text(number: str) -> None:
    assert parse_yaml(f"n: {number}").value == {"n": number}
    if number[-1].isdigit() and not number.startswith("0x") and len(number) < 4_000:
        assert parse_json(f'{{"n": {number}}}').value == {"n": number}
