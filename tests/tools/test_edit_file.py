"""`edit_file` over real files: all edits of a call land, or nothing changes and the model learns why."""
    (tmp_path / "a").write_text("x\n")
    proposal = await call(TOOL, context_at(tmp_path), path="a", old_string="x", new_string="x\u202e\u200by")
    assert isinstance(proposal, Proposal)
    assert "+x⟨U+202E⟩⟨U+200B⟩y" in (proposal.diff or "")


def test_both_forms_of_arguments_are_accepted() -> None:
    flat = Input.model_validate({"path": "a", "old_string": "x", "new_string": "y", "replace_all": True})
    listed = Input.model_validate(
        {"path": "a", "edits": [{"old_string": "x", "new_string": "y", "replace_all": True}]}
    )
    as_text = Input.model_validate(
        {"path": "a", "edits": '{"old_string": "x", "new_string": "y", "replaceAll": true}'}
    )
    with_null = Input.model_validate({"path": "a", "edits": None, "old_string": "x", "new_string": "y"})
    assert flat == listed == as_text
    assert len(with_null.edits) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "a"},
        {"path": "a", "edits": []},
        {"path": "a", "old_string": "x"},
        {"path": "a", "edits": "x"},
    ],
)
def test_incomplete_arguments_are_errors(arguments: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Input.model_validate(arguments)


async def test_parallel_edits_of_one_file_never_lose_one(tmp_path: Path) -> None:
    """Whoever comes second is told, and nothing of the first is overwritten."""
    file = tmp_path / "a"
    file.write_text("one\ntwo\n")
    context = context_at(tmp_path)
    first, second = [
        await call(TOOL, context, path="a", old_string=old, new_string=new)
        for old, new in (("one", "1"), ("two", "2"))
    ]
    assert isinstance(first, Proposal)
    assert isinstance(second, Proposal)
    assert first.edit is not None
    assert second.edit is not None
    outcomes = await asyncio.gather(
        context.editor.apply(first.edit, ""), context.editor.apply(second.edit, "")
    )
    assert sorted(outcome.outcome for outcome in outcomes) == ["applied", "stale"]
    assert file.read_text() in ("1\ntwo\n", "one\n2\n")


async def test_a_link_that_leads_elsewhere_by_now_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("x\n")
    (tmp_path / "other").write_text("x\n")
    link = tmp_path / "link"
    link.symlink_to("real")
    context = context_at(tmp_path)
    proposal = await call(TOOL, context, path="link", old_string="x", new_string="y")
    link.unlink()
    link.symlink_to("other")
    assert isinstance(proposal, Proposal)
    assert proposal.edit is not None
    assert (await context.editor.apply(proposal.edit, "")).outcome == "stale"
    assert (tmp_path / "other").read_text() == "x\n"
