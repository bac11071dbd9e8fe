"""The variables that move our folders are obeyed."""

import sys
from pathlib import Path

import pytest

from magent_lsp.store.dirs import Dirs


def test_the_config_variable_names_a_file_that_may_be_absent(tmp_path: Path) -> None:
    dirs = Dirs.from_environment(
        {"MAGENT_CONFIG": f"{tmp_path}/mine.json", "MAGENT_STATE_DIR": f"{tmp_path}/s"}
    )
    assert dirs == Dirs(user=tmp_path, state=tmp_path / "s", config_file=tmp_path / "mine.json")


@pytest.mark.skipif(sys.platform == "win32", reason="XDG folders are for Unix")
def test_xdg_folders_and_home(tmp_path: Path) -> None:
    dirs = Dirs.from_environment({"XDG_CONFIG_HOME": str(tmp_path), "XDG_STATE_HOME": f"{tmp_path}/st"})
    assert (dirs.user, dirs.state) == (tmp_path / "magent-lsp", tmp_path / "st" / "magent-lsp")
    home = Dirs.from_environment({"MAGENT_CONFIG": "~/m/c.yaml", "HOME": str(tmp_path)})
    assert home.config_file == tmp_path / "m" / "c.yaml"


def test_a_json_config_is_found_where_there_is_no_yaml(tmp_path: Path) -> None:
    folder = tmp_path / "magent-lsp"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    dirs = Dirs.from_environment({"XDG_CONFIG_HOME": str(tmp_path)})
    assert dirs.config_file.name == ("config.json" if sys.platform != "win32" else dirs.config_file.name)
