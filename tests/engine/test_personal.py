"""Tools that need an account of the user's: offered once it is there, and never asked about while it is not."""

from tests.engine.builders import ADA, BOB, TO_BOB, FakeTool, Lab, answer, approve, kinds, mail, settle

from pollux.core.errors import AuthError
from pollux.core.ids import UserId
from pollux.core.messages import JSON
from pollux.core.policy import Rule
from pollux.core.tools import Personal, ToolContext
from pollux.providers.scripted import call, calls, reply
from pollux.tools.masked import MaskedTool


class AccountMail(FakeTool):
    """Sends for those who have connected an account."""

    def __init__(self, *users: UserId, lacks: tuple[UserId, ...] = ()) -> None:
        super().__init__("send_mail", "sent", schema=mail().spec.input_schema, side_effect=True)
        self.users = set(users)
        self.lacks = set(lacks)

    async def is_offered(self, user: UserId) -> bool:
        return user in self.users

    async def admit(self, user: UserId) -> None:
        if user not in self.users or user in self.lacks:
            raise AuthError("connect your account first", connect_url="/connect?tools=send_mail")

    async def run(self, context: ToolContext, args: dict[str, JSON]) -> object:
        await self.admit(context.user)
        return await super().run(context, args)


async def test_the_model_hears_of_it_only_for_those_who_have_connected(lab: Lab):
    engine = await lab.engine(reply("hi"), reply("hi"), tools=[AccountMail(ADA), FakeTool()])
    await answer(engine, user=ADA)
    assert [tool.name for tool in lab.model.requests[-1].tools] == ["send_mail", "look"]
    await answer(engine, user=BOB)
    assert [tool.name for tool in lab.model.requests[-1].tools] == ["look"]


async def test_a_missing_right_ends_the_run_before_anybody_is_asked(lab: Lab):
    engine = await lab.engine(call("send_mail", TO_BOB), reply("no"), tools=[AccountMail(ADA, lacks=(ADA,))])
    run = await answer(engine)
    assert run.ending is not None
    assert (run.status, run.ending.code) == ("failed", "auth_error")
    assert run.ending.connect_url == "/connect?tools=send_mail"
    assert "ActionDecided" not in await kinds(engine, run)


async def test_a_right_that_is_lost_after_the_question_ends_the_run_with_where_to_go(lab: Lab):
    tool = AccountMail(ADA)
    engine = await lab.engine(call("send_mail", TO_BOB), reply("no"), tools=[tool])
    waiting = await answer(engine)
    tool.users.clear()
    run = await settle(engine, await approve(engine, waiting))
    assert run.ending is not None
    assert (run.ending.code, run.ending.connect_url) == ("auth_error", "/connect?tools=send_mail")
    assert not tool.ran


async def test_other_calls_of_the_same_turn_still_get_their_answers(lab: Lab):
    looking = FakeTool()
    engine = await lab.engine(
        calls(("send_mail", TO_BOB), ("look", {})), tools=[AccountMail(), looking], rules=[Rule("allow")]
    )
    run = await answer(engine)
    assert run.ending is not None and run.ending.code == "auth_error"
    assert len(looking.ran) == 1


def test_a_tool_around_a_personal_one_is_personal_too():
    assert isinstance(MaskedTool(AccountMail(), ()), Personal)
    assert not isinstance(MaskedTool(FakeTool(), ()), Personal)
