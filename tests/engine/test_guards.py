"""A run that would go on for ever costs the user time and money; a guard that is too quick costs the work."""

import pytest

from magent_lsp.core.messages import Usage
from magent_lsp.engine.guards import Budget, LoopGuard, TreeGuard, endless


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def cost(usd: float) -> Usage:
    return Usage(input_tokens=1, cost_usd=usd)


def test_requests_are_counted_up_to_the_limit_and_not_beyond() -> None:
    budget = Budget(max_turns=3)
    made = 0
    while budget.exceeded() is None:
        made += 1
        budget.count_turn()
    assert made == 3
    assert budget.exceeded() == "max_turns"
    assert "`maxTurns`" in budget.why()


def test_a_run_stops_before_it_costs_more() -> None:
    budget = Budget(max_cost_usd=1.0)
    spent = 0.0
    while budget.exceeded() is None:
        budget.count_turn(cost(0.3))
        spent += 0.3
    assert budget.exceeded() == "budget"
    assert 0.8 < spent <= 1.0
    assert "`maxCostUsd`" in budget.why()


def test_usage_of_the_run_counts_where_requests_were_counted_without_theirs() -> None:
    budget = Budget(max_cost_usd=1.0)
    budget.count_turn()
    assert budget.exceeded(cost(0.9)) is None
    assert budget.exceeded(cost(1.0)) == "budget"


def test_requests_without_a_known_price_do_not_stop_a_run() -> None:
    budget = Budget(max_cost_usd=1.0)
    for _ in range(100):
        budget.count_turn(Usage(input_tokens=10**6))
    assert budget.exceeded(Usage()) is None


def test_time_ends_a_run_but_waiting_for_a_person_does_not_count() -> None:
    clock = Clock()
    budget = Budget(max_minutes=1, clock=clock)
    clock.now += 59
    with budget.waiting():
        clock.now += 3_600
        assert budget.exceeded() is None
        with budget.waiting():
            clock.now += 10
    assert budget.exceeded() is None
    assert budget.seconds_left == pytest.approx(1)
    clock.now += 1
    assert budget.exceeded() == "budget"
    assert budget.seconds_left == 0
    assert "`maxMinutes`" in budget.why()


def test_an_error_while_waiting_starts_the_clock_again() -> None:
    clock = Clock()
    budget = Budget(max_minutes=1, clock=clock)
    with pytest.raises(KeyError), budget.waiting():
        raise KeyError
    clock.now += 61
    assert budget.exceeded() == "budget"


def test_subagents_share_money_and_time_but_not_requests() -> None:
    clock = Clock()
    root = Budget(max_turns=5, max_cost_usd=1.0, max_minutes=1, clock=clock)
    child = root.child(max_turns=2)
    grandchild = child.child(max_turns=None)
    for _ in range(20):
        grandchild.count_turn()
    assert (root.exceeded(), child.exceeded(), grandchild.exceeded()) == (None, None, None)
    grandchild.count_turn(cost(0.6))
    assert child.exceeded() == "budget", "the next one could cost 0.6 again"
    assert root.exceeded() == "budget"
    other = Budget(max_turns=5, max_minutes=1, clock=clock)
    child = other.child(max_turns=5)
    with child.waiting():
        clock.now += 90
    assert other.exceeded() is None, "a question of a subagent stops the parent's clock as well"
    clock.now += 61
    assert child.exceeded() == "budget"
    assert child.seconds_left == 0
    assert "`maxMinutes`" in child.why()


def test_no_limits_no_end() -> None:
    budget = Budget()
    for _ in range(1_000):
        budget.count_turn(cost(10))
    assert budget.exceeded() is None
    assert budget.seconds_left is None


# --- loops ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
def test_cycles_are_told_in_the_third_round_and_stopped_in_the_fifth(length: int) -> None:
    guard = LoopGuard()
    said = [
        guard.observe("bash", f'{{"command": "{step}"}}', f"out {step}")
        for _ in range(5)
        for step in range(length)
    ]
    third, fifth = 3 * length - 1, 5 * length - 1
    assert said[third] == "nudge"
    assert said[fifth] == "stop"
    assert "stop" not in said[:fifth]
    assert said.index("nudge") == third


def test_a_result_that_changes_is_progress() -> None:
    guard = LoopGuard()
    assert {guard.observe("bash", '{"command": "make"}', f"{n} errors left") for n in range(20)} == {"go"}


def test_the_same_call_between_different_ones_is_work() -> None:
    guard = LoopGuard()
    for n in range(20):
        assert guard.observe("edit_file", f'{{"n": {n}}}', "applied") == "go"
        assert guard.observe("bash", '{"command": "make"}', "failed") == "go"


def test_other_spellings_of_the_same_arguments_are_the_same_call() -> None:
    guard = LoopGuard()
    spellings = ['{"a": 1, "b": 2}', '{"b":2,"a":1}', '{ "a": 1,\n "b": 2 }']
    assert [guard.observe("x", arguments, "same") for arguments in spellings] == ["go", "go", "nudge"]


def test_arguments_that_are_no_json_loop_as_well() -> None:
    guard = LoopGuard()
    said = [guard.observe("write_file", '{"path": "a', "cut \ud800") for _ in range(5)]
    assert said == ["go", "go", "nudge", "go", "stop"]


def test_name_arguments_and_result_are_not_mixed_up() -> None:
    guard = LoopGuard()
    assert [guard.observe(*call) for call in [("ab", "c", ""), ("a", "bc", ""), ("a", "b", "c")]] == [
        "go"
    ] * 3


def test_a_loop_that_was_left_is_forgotten() -> None:
    guard = LoopGuard()
    for _ in range(4):
        guard.observe("bash", "{}", "x")
    guard.observe("bash", "{}", "y")
    assert guard.observe("bash", "{}", "x") == "go"
    guard.observe("bash", "{}", "x")
    guard.forget()
    assert guard.observe("bash", "{}", "x") == "go"


def test_repeated_words_without_calls() -> None:
    guard = LoopGuard()
    texts = ["I will now begin.", "I will  now begin.\n", "I will now begin.", "I will now begin."]
    assert [guard.observe_text(text) for text in texts] == ["go", "go", "nudge", "go"]
    assert guard.observe_text("I will now begin.") == "stop"


def whole_run(tree: TreeGuard, answer: str, *calls: str) -> str:
    """A subagent that makes these calls, each with the same result, and answers."""
    guard = tree.lend("explore")
    for name in calls:
        guard.observe(name, "{}", "same")
    return tree.give_back("explore", guard, answer)


def test_subagents_that_do_the_same_one_after_the_other_are_noticed() -> None:
    tree = TreeGuard()
    assert [whole_run(tree, "nothing", "grep", "read_file") for _ in range(5)] == [
        "go",
        "go",
        "nudge",
        "go",
        "stop",
    ]


def test_subagents_that_begin_alike_and_find_different_things_are_work() -> None:
    tree = TreeGuard()
    assert {whole_run(tree, f"answer {n}", "read_file", "grep") for n in range(8)} == {"go"}
    assert {whole_run(tree, "Done.", "read_file", f"grep{n}") for n in range(8)} == {"go"}


def test_what_works_side_by_side_is_not_mixed_up() -> None:
    """Five that read the same file at once are no circle, and do not hide one."""
    tree = TreeGuard()
    guards = [tree.lend("explore") for _ in range(5)]
    assert {guard.observe("read_file", "{}", "same") for guard in guards} == {"go"}
    assert {tree.give_back("explore", guard, "Read.") for guard in guards} == {"go"}
    alone = [tree.lend("build") for _ in range(2)][1]
    assert [alone.observe("grep", "{}", "same") for _ in range(5)] == ["go", "go", "nudge", "go", "stop"]


def test_the_same_last_words_of_several_subagents_are_no_circle() -> None:
    tree = TreeGuard()
    for n in range(6):
        guard = tree.lend("general")
        guard.observe("write_file", f'{{"path": "{n}"}}', "applied")
        assert guard.observe_text("Done.") == "go"
        assert tree.give_back("general", guard, "Done.") == "go"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the same line again and again\n" * 200, True),
        ("begin " + "ab" * 2_000, True),
        ("x" * 2_000, False),
        ("\n" * 5_000, False),
        ("".join(f"line {n} of a table | yes\n" for n in range(500)), False),
        ("the same line again and again\n" * 200 + "but then it ends", False),
        ("", False),
    ],
)
def test_endless_repetition_in_one_reply(text: str, expected: bool) -> None:
    assert endless(text) is expected
