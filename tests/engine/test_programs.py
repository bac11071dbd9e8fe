"""The doctor's look at programs: there, missing, and there but of no use."""

from pathlib import Path

from magent_lsp.engine.programs import editors, sandbox, search


def program(folder: Path, name: str, body: str) -> dict[str, str]:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return {"PATH": str(folder)}


async def test_a_missing_rg_is_a_warning_with_a_way_to_mend_it(tmp_path: Path) -> None:
    line = await search({"PATH": str(tmp_path)}, lambda environ: None)
    assert line.state == "warn"
    assert "ripgrep" in line.mend


async def test_the_version_is_the_one_the_program_says(tmp_path: Path) -> None:
    environ = program(tmp_path, "rg", "echo 'ripgrep 14.1.0 (rev 1)'")
    assert (
        await search(environ, lambda environ: f"{environ['PATH']}/rg")
    ).detail == f"14.1.0, {tmp_path / 'rg'}"


async def test_a_sandbox_that_is_wanted_and_does_not_work_is_a_failure(tmp_path: Path) -> None:
    environ = program(tmp_path, "bwrap", "echo 'No permissions to create new namespace' >&2; exit 1")
    wanted, unwanted = [await sandbox(wanted=each, environ=environ) for each in (True, False)]
    assert wanted.state == "fail"
    assert "No permissions" in wanted.detail
    assert "`bash.sandbox`" in wanted.mend
    assert unwanted.state == "ok"
    assert unwanted.mend == ""


async def test_a_sandbox_that_is_wanted_and_missing_is_a_failure(tmp_path: Path) -> None:
    assert (await sandbox(wanted=True, environ={"PATH": str(tmp_path)})).state == "fail"


async def test_editors_are_listed_with_versions_and_none_is_said(tmp_path: Path) -> None:
    [none] = await editors({"PATH": str(tmp_path)})
    assert none.state == "warn"
    program(tmp_path, "emacs", "echo 'GNU Emacs 30.1'")
    found = await editors(program(tmp_path, "nvim", "echo 'NVIM v0.11.4'"))
    assert [(line.name, line.detail.split(",")[0]) for line in found] == [
        ("emacs", "30.1"),
        ("nvim", "0.11.4"),
    ]


async def test_an_editor_that_is_too_old_for_the_usual_way_is_said(tmp_path: Path) -> None:
    """Who follows the README in an old Neovim gets errors of Lua that name nothing."""
    program(tmp_path, "emacs", "echo 'GNU Emacs 28.2'")
    program(tmp_path, "code", "echo 1.91.0")
    emacs, nvim, code = await editors(program(tmp_path, "nvim", "echo 'NVIM v0.7.2'"))
    assert (emacs.state, code.state) == ("ok", "ok")
    assert nvim.state == "warn"
    assert nvim.detail == f"0.7.2, {tmp_path / 'nvim'}; older than 0.11"
    assert "0.10" in nvim.mend
