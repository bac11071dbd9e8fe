"""What is told of a run when it begins."""

from magent_lsp.core.events import Notice, RunStarted
from magent_lsp.engine.run import Run
from magent_lsp.engine.slash import agent_at_work
from magent_lsp.engine.summaries import needs_model
from magent_lsp.engine.titles import title_from


def announce(run: Run) -> None:
    """Tell that the run begins; in a new conversation, name it and say what is wrong in the files."""
    scope = run.scope
    spoken = run.parent is None and needs_model(run.request.prompt, run.snapshot.commands)
    if spoken and not run.session.title:
        run.names_session = True
        run.session.rename(title_from(run.host.redact(run.request.prompt)))
    run.emit(
        RunStarted(
            agent=agent_at_work(run).name,
            model=run.guest.name if run.guest is not None else run.wished_model or run.settings.model,
            prompt=run.request.prompt,
            uri=scope.path.as_uri() if scope and scope.path else None,
            range=scope.span if scope else None,
            parent_run_id=run.parent.id if run.parent else None,
            folder=run.session.folder.as_uri(),
        )
    )
    if spoken and run.guest is None and not run.session.messages:
        _say_what_is_wrong(run)


def _say_what_is_wrong(run: Run) -> None:
    # The terminal has said at its start what is wrong in the files.
    for problem in () if run.host.ways.terminal else run.snapshot.problems:
        if problem.severity == "error" and not problem.needs_trust:
            run.emit(Notice(level="warning", message=str(problem)))
    if not run.snapshot.trusted:
        run.emit(
            Notice(
                level="info",
                message="This project's own config only tightens until you trust it: "
                f"{run.host.ways.trust} shows what it would allow or run.",
            )
        )
