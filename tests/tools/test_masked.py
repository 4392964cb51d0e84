"""What a tool of somebody else's returns or says, without the secrets that are known here."""

from base64 import b64encode
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import pytest

from pollux.core.errors import AuthError, ToolError
from pollux.core.ids import ActionId, RunId, ThreadId, UserId
from pollux.core.messages import JSON
from pollux.core.redact import MASK, Secret
from pollux.core.tools import Answered, Reconciled, ToolContext, ToolSpec
from pollux.tools.define import Args, Execute, FunctionTool
from pollux.tools.masked import MaskedTool, secrets_named

KEY = "crm/canary+key=0123"
CONTEXT = ToolContext(UserId("ada"), "", RunId("run_1"), ActionId("act_1_1.0"), ThreadId("thr_1"))
SPEC = ToolSpec("crm", "It asks.", {"type": "object", "properties": {}})


async def looked(context: ToolContext, args: Args) -> Reconciled:
    return Reconciled("done", {"by": KEY})


def masked(execute: Execute) -> MaskedTool:
    return MaskedTool(FunctionTool(SPEC, execute, reconcile=looked), [Secret(KEY)])


@dataclass
class Sent:
    header: str


async def returned(result: object) -> JSON:
    return await masked(lambda context, args: result).run(CONTEXT, {})


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (f"key {KEY}!", f"key {MASK}!"),
        ({"a": [KEY, {KEY: 1}], "b": 2.5}, {"a": [MASK, {MASK: 1}], "b": 2.5}),
        (Sent(f"Bearer {KEY}"), {"header": f"Bearer {MASK}"}),
        (quote(KEY, safe=""), MASK),
        (b64encode(KEY.encode()).decode(), MASK),
        (KEY.encode(), MASK),
        (None, None),
        ("nothing of that kind", "nothing of that kind"),
    ],
)
async def test_a_result_is_masked_in_every_part(result: object, expected: JSON):
    assert await returned(result) == expected


async def test_an_error_that_is_told_is_masked_and_stays_what_it_was():
    problem = AuthError(f"401 for {KEY}", code="scope", connect_url="/connect")

    def fail(context: ToolContext, args: Args) -> Any:
        raise problem

    with pytest.raises(AuthError) as caught:
        await masked(fail).run(CONTEXT, {})
    assert caught.value is problem
    assert (str(problem), problem.code, problem.connect_url) == (f"401 for {MASK}", "scope", "/connect")


async def test_an_error_without_a_secret_is_untouched():
    def fail(context: ToolContext, args: Args) -> Any:
        raise ToolError("no such customer")

    with pytest.raises(ToolError, match=r"^no such customer$"):
        await masked(fail).run(CONTEXT, {})


async def test_what_a_look_at_the_world_finds_is_masked_too():
    assert await masked(lambda context, args: None).reconcile(CONTEXT, {}) == Reconciled("done", {"by": MASK})


def test_everything_else_is_the_tools_own():
    tool = FunctionTool(
        SPEC,
        lambda context, args: None,
        prepare=lambda args: {**args, "prepared": True},
        subjects=lambda args: frozenset({"eve"}),
        preview=lambda args: "a preview",
    )
    wrapped = MaskedTool(tool, [])
    assert (wrapped.spec, wrapped.prepare({}), wrapped.subjects({}), wrapped.preview({})) == (
        SPEC, {"prepared": True}, {"eve"}, "a preview",
    )  # fmt: skip


def test_the_name_of_a_variable_says_whether_it_is_secret():
    long = "0123456789abcdef"
    environ = {
        **dict.fromkeys(("CRM_TOKEN", "API_KEY", "key", "Db_Password", "CLIENT_SECRET", "AWS_CREDENTIALS"), long),
        **dict.fromkeys(("PATH", "KEYBOARD", "TOKENIZER", "MONKEY", "KEY_COUNT", "EDITOR"), long + "-plain"),
        "SHORT_KEY": "yes",
        "TLS_KEY": "/etc/ssl/private/key.pem",
    }
    assert {secret.reveal() for secret in secrets_named(environ)} == {long}
    assert len(secrets_named(environ)) == 6


class Heard:
    """Takes what a tool tells while it works."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    async def note(self, value: JSON) -> None: ...

    def tell(self, text: str, *, stream: str = "stdout") -> None:
        self.told.append((stream, text))

    async def ask(self, tool: str, args: dict[str, JSON]) -> Answered:
        return Answered("completed")

    async def objection(self, tool: str, args: dict[str, JSON]) -> str:
        return ""

    async def observe(self, tool: str, title: str, status: str) -> None:
        self.told.append((tool, title))


async def test_what_a_tool_tells_while_it_works_is_masked_also_where_it_comes_in_pieces():
    async def talk(context: ToolContext, args: Args) -> None:
        for piece in ("the key is ", KEY[:5], KEY[5:], " or c"):
            context.tell(piece)
        context.tell(KEY[:3], stream="stderr")
        await context.observe("acp:read", f"Read {KEY}", "completed")

    heard = Heard()
    await masked(talk).run(replace(CONTEXT, reach=heard), {})
    assert "".join(text for stream, text in heard.told if stream == "stdout") == f"the key is {MASK} or c"
    # The beginning of a key is none.
    assert [text for stream, text in heard.told if stream == "stderr"] == [KEY[:3]]
    assert ("acp:read", f"Read {MASK}") in heard.told
