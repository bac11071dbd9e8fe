"""Folders with many agents, commands and skills."""

from pathlib import Path

BODY = "Text of a prompt, as long as they are.\n" * 40


def many(folder: Path) -> None:
    """200 files: agents, commands and skills of all families."""
    head = (
        "---\nname: {name}\ndescription: Does {name}\ntools: Read, Grep, Bash(git *)\n"
        "permission:\n  bash:\n    'git *': ask\n---\n"
    )
    for number in range(70):
        for family in (".claude/agents", ".opencode/command"):
            path = folder / family / f"n{number}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(head.format(name=f"n{number}") + BODY)
    for number in range(60):
        path = folder / ".agents" / "skills" / f"n{number}" / "SKILL.md"
        path.parent.mkdir(parents=True)
        path.write_text(f"---\ndescription: Does {number}\n---\n" + BODY)
