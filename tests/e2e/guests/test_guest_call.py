"""Another program's agent in the person's editor: the whole way once, for the everyday loop."""

from pathlib import Path

from tests.support.guest import SERVED, door, guest
from tests.support.lsp_client import EVENTS, editor


async def test_another_agent_reads_unsaved_text_and_edits_the_buffer_after_a_yes(tmp_path: Path) -> None:
    async with editor(tmp_path, settings=SERVED, client=EVENTS, files={"a.py": "x = 1\n"}) as client:
        buffer = client.open("a.py", "x = 1\ny = 2\n")
        await door(tmp_path)
        client.always = "Allow once"
        async with guest(tmp_path) as agent:
            assert "y = 2" in (await agent.use("read_file", path="a.py")).text
            got = await agent.use("edit_file", path="a.py", old_string="x = 1", new_string="x = 42")
            assert "applied" in got.text
            assert not got.failed
        assert buffer.text == "x = 42\ny = 2\n"
        (question,) = client.questions
        assert "+x = 42" in question["message"]
        assert (tmp_path / "ws/a.py").read_text() == "x = 1\n", "saving is the person's"
