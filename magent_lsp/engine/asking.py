"""Questions of an agent to the person; the run says that it waits."""

from dataclasses import replace

from magent_lsp.core.diff import one_line
from magent_lsp.core.request import Answer, Question
from magent_lsp.engine.run import Run

WAITING = "waiting for you"


async def ask_person(run: Run, question: Question) -> Answer | None:
    """The person's answer; None if they gave none. Time that they take does not count."""
    title = f"{run.guest.name}: {question.title}" if run.guest is not None else question.title
    question = replace(question, title=one_line(title))
    before, doing = run.state, run.doing
    run.state, run.doing = "waiting", WAITING
    run.hooks.tell(
        "Notification",
        "question",
        notification_type="question",
        title=question.title,
        message=f"{run.agent.name} asks: {question.title}",
    )
    try:
        with run.budget.waiting():
            return await run.host.gate.question(question)
    finally:
        run.state, run.doing = before, doing
