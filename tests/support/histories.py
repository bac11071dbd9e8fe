"""Conversations as bad as they come, for property tests."""

from hypothesis import strategies as st

from magent_lsp.core.messages import (
    AssistantMessage,
    Image,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)

IDS = st.sampled_from(
    [
        "a",
        "b",
        "c",
        "call_0",
        "call_0-2",
        "",
        "functions.bash:0",
        "x" * 60,
        "é",
        "c__thought__A+/=",
        "b-2",
        "before-a",
        "a-b",
        "b-a",
    ]
)
TEXTS = st.sampled_from(["hello", "", "  \n", "\ud800 lone", "ünï 😀", "\x00"])
ARGUMENTS = st.sampled_from(
    [
        *("{}", '{"path": "a"}', '{"path": "a', "", "[1]", "null", '{"n": NaN}', "nope", ' {"a": 1}\n'),
        *('{"s": "\\ud800"}', '{"s": "\\ud83d\\ude00"}', '{"s": "\ud800"}', "[" * 50_000),
    ]
)
NAMES = st.sampled_from(["bash", "read_file", "", "no such tool!", "y" * 80])
CALLS = st.builds(ToolCall, id=IDS, name=NAMES, arguments=ARGUMENTS)
STATUS = st.sampled_from(["completed", "failed", "rejected", "cancelled"])
MESSAGES = st.one_of(
    st.builds(SystemMessage, text=TEXTS),
    st.builds(
        UserMessage, id=IDS, text=TEXTS, images=st.sampled_from([(), (Image(media_type="a", data="b"),)])
    ),
    st.builds(
        AssistantMessage,
        id=IDS,
        text=TEXTS,
        tool_calls=st.lists(CALLS, max_size=4).map(tuple),
        finish=st.sampled_from(["stop", "tool_calls", "length", "cut"]),
        reasoning_blocks=st.sampled_from([(), ({"type": "thinking", "signature": "s"},)]),
    ),
    st.builds(ToolMessage, id=IDS, call_id=IDS, name=NAMES, text=TEXTS, status=STATUS),
)
HISTORIES = st.lists(MESSAGES, max_size=14)
