"""Which editor a client is, from what it says of itself."""

from lsprotocol import types
from pygls.protocol import default_converter

from magent_lsp.lsp.habits import Habits, habits_of
from tests.support.lsp_profiles import EMACS, NEOVIM, POOR, VSCODE, Profile


def habits(profile: Profile, name: str = "", version: str | None = None) -> Habits:
    capabilities = default_converter().structure(profile.capabilities, types.ClientCapabilities)
    return habits_of(types.ClientInfo(name, version) if name else None, capabilities)


def test_an_eglot_without_a_name_is_known_by_what_it_declares() -> None:
    assert habits(EMACS).vouches
    assert habits(EMACS).holds_back
    for profile in (VSCODE, NEOVIM, POOR):
        assert not habits(profile).vouches, profile.name
        assert not habits(profile).holds_back, profile.name


def test_an_eglot_that_gives_its_name_may_say_applied_of_what_was_declined() -> None:
    assert not habits(EMACS, "Eglot").vouches
    assert habits(EMACS, "Eglot").holds_back


def test_a_client_that_only_looks_like_eglot_and_gives_its_name_is_not_one() -> None:
    assert not habits(EMACS, "Somebody").vouches
    assert not habits(EMACS, "Somebody").holds_back


def test_who_takes_the_first_button_for_an_empty_answer() -> None:
    assert habits(EMACS).first_is_default
    assert habits(VSCODE, "Eglot", "1.17").first_is_default
    assert habits(POOR).first_is_default, "who declares no window could be one"
    assert not habits(VSCODE, "Visual Studio Code").first_is_default
    assert not habits(NEOVIM, "Neovim").first_is_default


def test_who_leaves_lying_what_comes_with_an_answer() -> None:
    assert habits(EMACS).stops_at_answers
    for version in (None, "1.13", "1.15.9", "unknown"):
        assert habits(EMACS, "Eglot", version).stops_at_answers, version
    for version in ("1.16", "1.17.30", "2.0"):
        assert not habits(EMACS, "Eglot", version).stops_at_answers, version
    assert habits(VSCODE, "emacs", "GNU Emacs 30.1").stops_at_answers, "lsp-mode"
    for profile in (VSCODE, NEOVIM, POOR):
        assert not habits(profile).stops_at_answers, profile.name
