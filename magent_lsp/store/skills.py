"""Skills: folders with a SKILL.md that the model loads when it needs what is in it."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from magent_lsp.core.errors import ConfigError
from magent_lsp.store import toolnames
from magent_lsp.store.collect import Definition, collect, native_first
from magent_lsp.store.dirs import Dirs
from magent_lsp.store.expansion import fill
from magent_lsp.store.fields import Fields
from magent_lsp.store.files import NO_TEXTS, Texts
from magent_lsp.store.keys import SKILL, canonical_names
from magent_lsp.store.places import Place, places
from magent_lsp.store.problems import Problem

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
MAX_NAME = 64
MAX_DESCRIPTION = 1024
MAX_LISTED = 40
"""Files beside SKILL.md that are named to the model."""

_KEYS = tuple(canonical_names(SKILL))


@dataclass(frozen=True, kw_only=True)
class Skill:
    """What a model may load: it knows the name and the description, the body only when it asks."""

    name: str
    description: str
    path: Path
    """The SKILL.md."""
    text: str
    """The body, as it was when the skill was loaded from disk."""
    license: str = ""
    compatibility: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    allowed_tools: frozenset[str] | None = None
    """Tools it says it needs; never widens what is allowed."""
    native: bool = False
    trusted: bool = True

    def body(self) -> str:
        """The instructions."""
        return self.text

    @property
    def needs(self) -> str | None:
        """A tool without which the skill is of no use (`metadata: needs-tool`)."""
        tool = self.metadata.get("needs-tool")
        return tool if isinstance(tool, str) else None


@dataclass(frozen=True, kw_only=True)
class Skills:
    """All skills of a project, and what was wrong."""

    skills: Mapping[str, Skill]
    problems: tuple[Problem, ...] = ()


def load_skills(
    folder: Path | None,
    dirs: Dirs,
    trusted: bool,
    *,
    root: Path | None = None,
    texts: Texts = NO_TEXTS,
) -> Skills:
    """All skills a project sees; the first place that defines a name wins."""
    collected = collect(
        "skill",
        tuple(places("skills", folder, dirs, trusted, root, texts)),
        lambda name: name == "SKILL.md",
        _read,
    )
    return Skills(
        skills=native_first(collected.chosen, lambda skill: skill.native), problems=tuple(collected.problems)
    )


def _read(path: Path, place: Place) -> Definition[Skill]:
    """Read one SKILL.md; ConfigError if it defines no skill."""
    fields = Fields(place.read(path), _KEYS)
    name = fields.text("name") or path.parent.name
    if not NAME.fullmatch(name) or len(name) > MAX_NAME:
        reason = (
            f"{name!r} is no name for a skill: small letters, digits and single dashes, at most {MAX_NAME}"
        )
        raise ConfigError(reason, path=path, line=fields.line("name") or 1)
    description = " ".join(fields.text("description").split())
    if not description:
        raise ConfigError("a skill needs a `description`", path=path, line=1)
    if len(description) > MAX_DESCRIPTION:
        reason = f"the description has {len(description)} characters; at most {MAX_DESCRIPTION} are allowed"
        raise ConfigError(reason, path=path, line=fields.line("description"))
    if not fields.front.body:
        fields.report("this skill has no text below its front matter")
    tools = toolnames.entries(fields.get("allowedtools"))
    if tools is None and fields.get("allowedtools") is not None:
        fields.bad("allowedtools", "a list or a text")
    skill = Skill(
        name=name,
        description=description,
        path=path,
        text=fields.front.body,
        license=fields.text("license"),
        compatibility=fields.text("compatibility"),
        metadata=fields.mapping("metadata"),
        allowed_tools=None if tools is None else frozenset(entry.name for entry in tools if entry.known),
        native=place.native,
        trusted=place.trusted,
    )
    return Definition(name=name, path=path, item=skill, problems=tuple(fields.problems))


def render_skill(skill: Skill, arguments: str = "") -> str:
    """A skill as the model sees it once it is loaded; `$ARGUMENTS` and `$1` in it are filled in."""
    body, filled = fill(skill.text, arguments)
    parts = [body.replace("</skill-loaded", "<\\/skill-loaded")]
    if arguments.strip() and not filled:
        parts.append(f"Arguments: {arguments.strip()}")
    beside = _files_beside(skill.path) if not skill.native else []
    if beside:
        parts.append(
            f"Files of this skill, below {skill.path.parent}; read them when needed: {', '.join(beside)}"
        )
    text = "\n\n".join(parts)
    return f'<skill-loaded name="{skill.name}">\n{text}\n</skill-loaded>'


def _files_beside(path: Path) -> list[str]:
    """Names of the files that come with a skill, relative to its folder."""
    found: list[str] = []
    for folder, below, names in islice(os.walk(path.parent), 200):
        below[:] = sorted(name for name in below if not name.startswith(".") and name != "node_modules")
        here = Path(folder).relative_to(path.parent)
        found += (
            str(here / name) for name in sorted(names) if not name.startswith(".") and name != "SKILL.md"
        )
        if len(found) > MAX_LISTED:
            return [*found[:MAX_LISTED], "…"]
    return found
