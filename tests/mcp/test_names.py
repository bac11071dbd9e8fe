"""Names of tools: taken by every provider, unique, and the same tomorrow."""

import re

from hypothesis import given
from hypothesis import strategies as st

from magent_lsp.mcp.names import prefix_of, tool_name

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def test_ordinary_names_stay_as_they_are() -> None:
    assert tool_name(prefix_of("github"), "create_issue") == "mcp__github__create_issue"
    assert prefix_of("my server") == "mcp__my_server__"


@given(st.text(min_size=1, max_size=200), st.text(min_size=1, max_size=200))
def test_every_name_is_taken_by_providers(server: str, tool: str) -> None:
    """One bad name would fail every request."""
    name = tool_name(prefix_of(server), tool)
    assert NAME.fullmatch(name)
    assert name == tool_name(prefix_of(server), tool)


@given(
    st.sampled_from(["a", "a_", "a__b", "a b", "b", "_"]),
    st.sampled_from(["a", "a_", "a__b", "a b", "b", "_"]),
    st.text(alphabet="ab_- é", min_size=1, max_size=70),
    st.text(alphabet="ab_- é", min_size=1, max_size=70),
)
def test_two_tools_never_share_a_name(one: str, other: str, first: str, second: str) -> None:
    """A grant for one tool must not open another one."""
    if prefix_of(one) == prefix_of(other) and one != other:
        return  # the caller refuses the second server
    if (one, first) != (other, second):
        assert tool_name(prefix_of(one), first) != tool_name(prefix_of(other), second)
