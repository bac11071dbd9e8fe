"""What a person sees must be what is meant, wherever the streams lead."""

import io
import subprocess
import sys

import pytest

from magent_lsp.headless.terminal import Terminal, printable


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Closed(io.StringIO):
    """A pipe whose reader is gone."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def terminal(out: io.StringIO, err: io.StringIO, **environ: str) -> Terminal:
    return Terminal(out=out, err=err, stdin=io.StringIO(), environ=environ)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[2J\x1b]0;title\x07", r"\x1b[2J\x1b]0;title\x07"),
        ("\x9b31m", r"\x9b31m"),
        ("pay \u202e001$", r"pay \u202e001$"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("Ünï çödé 👩‍👩‍👧", "Ünï çödé 👩‍👩‍👧"),
        ("\ud800", r"\ud800"),
    ],
)
def test_nothing_shown_can_control_the_terminal_or_turn_text_around(said: str, shown: str) -> None:
    assert printable(said) == shown


def test_a_program_reads_the_answer_as_the_model_wrote_it() -> None:
    out = io.StringIO()
    terminal(out, io.StringIO()).answer("raw \x1b[1mbytes")
    assert out.getvalue() == "raw \x1b[1mbytes"


def test_answers_and_remarks_do_not_share_a_line() -> None:
    out = Screen()
    both = terminal(out, out)
    both.answer("half a line")
    both.line("remark")
    both.answer("more")
    both.fresh()
    both.fresh()
    assert [line.rstrip() for line in out.getvalue().splitlines()] == ["half a line", "remark", "more"]


def test_colours_only_for_terminals_that_want_them() -> None:
    for err, environ, coloured in [
        (Screen(), {"TERM": "xterm"}, True),
        (Screen(), {"NO_COLOR": "1"}, False),
        (Screen(), {"TERM": "dumb"}, False),
        (io.StringIO(), {"TERM": "xterm"}, False),
    ]:
        terminal(io.StringIO(), err, **environ).line("warning", "bold yellow")
        assert ("\x1b" in err.getvalue()) is coloured, environ


def test_text_that_looks_like_markup_is_shown_as_it_is() -> None:
    err = Screen()
    terminal(io.StringIO(), err, TERM="xterm").line("list[int] [/bold] :smile:", "red")
    assert "list[int] [/bold] :smile:" in err.getvalue()


def test_a_reader_that_went_away_breaks_nothing() -> None:
    gone = terminal(Closed(), Closed())
    gone.answer("text")
    gone.line("remark")
    gone.data("{}")
    assert gone.broken


def test_what_a_library_prints_does_not_spoil_the_answer() -> None:
    code = (
        "import os; from magent_lsp.headless.terminal import Terminal; own = Terminal.standard();"
        "own.data('{}'); print('from Python'); os.write(1, b'from C'); own.answer('the answer')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout == "{}\nthe answer"
    assert "from Python" in done.stderr
    assert "from C" in done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_are_no_error(closed: str) -> None:
    code = (
        "from magent_lsp.headless.terminal import Terminal; own = Terminal.standard();"
        "own.answer('text'); own.line('remark'); own.data('{}')"
    )
    shell = f'"{sys.executable}" -c "{code}" {closed}'
    assert subprocess.run(["sh", "-c", shell], capture_output=True, timeout=30, check=False).returncode == 0


def test_a_long_diff_says_what_it_leaves_out() -> None:
    err = io.StringIO()
    terminal(io.StringIO(), err).diff("\n".join(f"+{n}" for n in range(10)), limit=3)
    assert err.getvalue().splitlines() == ["  +0", "  +1", "  +2", "  … 7 more lines"]
