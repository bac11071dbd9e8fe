"""The example of the guide to chat documents, as it is run."""

import re
from pathlib import Path

from tests.support.chat import Talk
from tests.support.lsp_client import editor
from tests.support.model_server import ModelServer
from tests.support.stage import Stage

GUIDE = (Path(__file__).parents[2] / "docs/guide/chat.md").read_text(encoding="utf-8")


async def test_the_example_is_what_comes_of_its_message(tmp_path: Path) -> None:
    match = re.search(r"```markdown\n(.*?)\n```\n", GUIDE, re.DOTALL)
    assert match is not None
    shown = f"{match[1]}\n"
    answer = re.search(r"read_file src/parser.py\n\n(.*?)\n\n## You", shown, re.DOTALL)
    assert answer is not None
    script = [{"calls": [{"tool": "read_file", "arguments": {"path": "src/parser.py"}}]}, {"text": answer[1]}]
    files = {"src/parser.py": "def parse(text: str) -> list[str]:\n    return text.split()\n"}
    async with editor(tmp_path, script=script, files=files) as client:
        written = shown.partition("## Magent")[0]
        talk = Talk(Stage(client, ModelServer(), tmp_path), "guide", text=written)
        await talk.send()
        assert talk.text.replace(f"session: {talk.session}\n", "") == shown
