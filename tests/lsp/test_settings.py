"""Layers of settings from a client."""

from typing import Any

import pytest

from magent_lsp.lsp.settings import merge, pushed_section, split_options

KNOWN = frozenset({"model", "permission"})


def test_options_are_split_from_what_the_client_can_do() -> None:
    options = {"magent": {"model": "x/y", "client": {"events": True}, "token": "secret"}, "other": 1}
    assert split_options(options) == ({"model": "x/y"}, {"events": True})


@pytest.mark.parametrize("options", [None, 5, [], "x", {"magent": 5}, {"magent": None}, {"other": {}}])
def test_odd_options_are_no_options(options: Any) -> None:
    assert split_options(options) == ({}, {})


def test_the_upper_layer_wins_and_null_is_not_set() -> None:
    lower = {"model": "a/b", "permission": {"bash": "deny", "fetch": "ask"}, "log": "debug"}
    upper = {"model": None, "permission": {"bash": "ask"}, "log": "off", "agent": None}
    assert merge(lower, upper) == {
        "model": "a/b",
        "permission": {"bash": "ask", "fetch": "ask"},
        "log": "off",
    }
    assert merge({"permission": "deny"}, {"permission": {"bash": "ask"}}) == {"permission": {"bash": "ask"}}


@pytest.mark.parametrize(
    ("settings", "section"),
    [
        ({"magent": {"model": "x"}}, {"model": "x"}),
        ({"magent": {}, "model": "y"}, {}),
        ({"magent": None}, {}),
        ({"magent": 5}, {}),
        ({"model": "x"}, {"model": "x"}),
        ({"pylsp": {}}, None),
        ({}, None),
        (None, None),
        ([], None),
    ],
)
def test_both_forms_of_a_push(settings: Any, section: Any) -> None:
    assert pushed_section(settings, KNOWN) == section
