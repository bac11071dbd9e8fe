"""What is logged in a terminal must be readable there, and whole for those who ask."""

import subprocess
import sys

import pytest

CODE = """
import logging, sys, warnings
from magent_lsp.headless.logs import configure
configure(int(sys.argv[1]))
ours, theirs = logging.getLogger("magent_lsp.store"), logging.getLogger("somelib")
try:
    raise ValueError("two\\nlines")
except ValueError:
    ours.exception("it failed")
ours.info("a detail")
theirs.warning("of no interest")
theirs.error("that matters")
warnings.warn("old", DeprecationWarning)
"""


def logged(verbosity: int) -> str:
    words = [sys.executable, "-c", CODE, str(verbosity)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == ""
    return done.stderr


def test_a_failure_is_one_line() -> None:
    shown = logged(0).splitlines()
    assert len(shown) == 2
    assert shown[0].startswith("error: it failed: ValueError(")
    assert shown[1] == "error: that matters"


@pytest.mark.parametrize(("verbosity", "details", "traceback"), [(0, 0, 0), (1, 1, 0), (2, 1, 1)])
def test_v_shows_details_and_vv_tracebacks(verbosity: int, details: int, traceback: int) -> None:
    shown = logged(verbosity)
    assert shown.count("a detail") == details
    assert shown.count("Traceback") == traceback
