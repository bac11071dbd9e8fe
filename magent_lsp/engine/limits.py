"""The limits of a run, from its settings and from those that it works for."""

from magent_lsp.core.events import Notice
from magent_lsp.engine.guards import Budget
from magent_lsp.engine.run import Run


def budget_of(run: Run) -> Budget:
    """The requests, money and time that a run has."""
    settings = run.settings
    turns = min(run.agent.max_turns or settings.max_turns, settings.max_turns)
    if run.parent is not None:
        return run.parent.budget.child(turns)
    return Budget(max_turns=turns, max_cost_usd=settings.max_cost_usd, max_minutes=settings.max_minutes)


def watch_tree(run: Run) -> None:
    """A subagent has ended: tell its parent, or end the tree, if the same keeps happening."""
    if run.parent is None:
        return
    name = run.agent.name
    match run.root.tree.give_back(name, run.loops, run.text):
        case "nudge":
            run.parent.hear(
                f"The agent {name!r} has done the same steps with the same result several times. "
                "Do something else, or say what is in the way.",
                synthetic=True,
            )
        case "stop":
            run.root.circling = name
            why = f"Stopped: the agent {name!r} keeps doing the same, with the same result."
            run.root.emit(Notice(level="warning", message=why))
