"""Messages of every kind, made up at random."""

from hypothesis import strategies as st

from pollux.core.messages import Blob, FileRef, Message, Native, Part, Text, Thought, ToolCall, ToolResult

WORDS = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
NUMBERS = st.integers(-(10**40), 10**40) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(WORDS, VALUES, max_size=3)
PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(Text, WORDS),
    st.builds(Thought, WORDS),
    st.builds(Blob, WORDS, st.binary(max_size=40), st.none() | WORDS),
    st.builds(FileRef, WORDS, WORDS),
    st.builds(ToolCall, WORDS, WORDS, OBJECTS, st.booleans()),
    st.builds(ToolResult, WORDS, WORDS, VALUES, st.booleans()),
)
NATIVES = st.builds(Native, WORDS, st.sampled_from(['{"parts": [{"text":"a"}] }', "{}", '{"\\ud83d\\ude00":1.50}']))
MESSAGES = st.lists(
    st.builds(
        Message,
        st.sampled_from(["user", "assistant", "tool", "notice"]),
        st.lists(PARTS, max_size=4).map(tuple),
        native=st.none() | NATIVES,
        pinned=st.booleans(),
    ),
    max_size=5,
).map(tuple)
"""A conversation, sensible or not."""
