"""The page that compares the clients says what their code and their tests say."""

import pytest

from tests.support.clients_matrix import CASES, EDITORS, covered
from tests.support.clients_table import FOLDERS, ROWS, Row, wrong


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_a_client_is_said_to_have_is_in_its_code(row: Row) -> None:
    """Who chooses an editor by the table must find what it says."""
    assert [why for column in FOLDERS if (why := wrong(row, column))] == []


@pytest.mark.parametrize("editor", EDITORS)
def test_every_way_is_tested_in_every_editor(editor: str) -> None:
    assert covered(editor) == set(CASES)
