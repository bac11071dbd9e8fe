"""Files whose change is always asked: they decide what runs later, or what this program may do."""

import re
from collections.abc import Sequence
from typing import Final

from magent_lsp.permissions.paths import fold_name
from magent_lsp.permissions.place import Form, Map, is_below, names_of
from magent_lsp.permissions.tables import set_of

NAMES: Final = set_of("""
    .git .gitmodules .gitconfig .vscode .idea .husky .devcontainer .envrc .npmrc .pre-commit-config.yaml
    .pre-commit-config.yml .mcp.json .claude .opencode .agents .magent .ssh .bashrc .bash_profile
    .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc
    .mkshrc .cshrc .tcshrc .login .logout .inputrc .xprofile .xinitrc .xsessionrc .xsession
    .pam_environment config.fish .hushlogin .cursor .zed .exrc .nvimrc .nvim.lua .gdbinit .lldbinit .direnvrc
    .tool-versions
""")
PREFIXES: Final = (".yarnrc",)
OPEN: Final = (".magent", "plans")
"""The folder in which an agent may write its plans."""

_IGNORED: Final = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\u00ad]")
"""Signs that some file systems do not see in a name."""


def protected_reason(form: Form, map: Map) -> str | None:
    """Why a change of this file is always asked, in words; None if the rules decide."""
    for own in map.place.own:
        for spelling in {str(own), map.real(str(own)) or str(own)}:
            if is_below(tuple(map_fold(form.item.absolute[0])), tuple(map_fold(names_of(spelling)))):
                return "it is part of this program's own configuration"
    for names in form.item.relative or form.item.absolute[:1]:
        if (name := protected_name(names)) is not None:
            return f"`{name}` is protected"
    if form.item.relative and ".git" in map_fold(form.item.absolute[0]):
        return "`.git` is protected"
    return None


def map_fold(names: Sequence[str]) -> list[str]:
    """Names as compared here: case, composition and invisible signs do not count."""
    return [plain(name) for name in names]


def plain(name: str) -> str:
    """One name as the most forgiving file system sees it."""
    if not name.isascii():
        name = _IGNORED.sub("", name)
    folded = fold_name(name).partition(":")[0] if name.startswith(".") else fold_name(name)
    return folded.rstrip(". ") or folded


def protected_name(names: Sequence[str]) -> str | None:
    """The first protected name in a path."""
    folded = map_fold(names)
    for index, name in enumerate(folded):
        if name == OPEN[0] and folded[index + 1 : index + 2] == [OPEN[1]] and len(folded) > index + 2:
            continue
        if name in NAMES or name.startswith(PREFIXES) or re.fullmatch(r"git~\d+", name):
            return names[index]
    return None
