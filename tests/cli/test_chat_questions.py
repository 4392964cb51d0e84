"""Questions to whoever sits there: one at a time, and Ctrl-C is no answer but an end."""

import asyncio
from dataclasses import replace

import pytest
from tests.waiting import until

from pollux.cli.asking import described
from pollux.cli.chat.keys import Interrupted
from pollux.cli.chat.questions import Questions, answer_of
from pollux.cli.chat.screen import Screen
from pollux.cli.masking import Mask
from pollux.core.redact import Secret
from pollux.sdk.approvals import Answer, Approve, Reject
from pollux.sdk.events import ApprovalRequired


class Typist:
    """Answers when told to; notes what was asked."""

    def __init__(self) -> None:
        self.words: asyncio.Queue[str] = asyncio.Queue()
        self.asked = 0

    async def prompt(self) -> str | None:
        return None

    async def ask(self, question: str) -> str | None:
        self.asked += 1
        word = await self.words.get()
        if word == "^C":
            raise Interrupted
        return word

    def interrupt(self) -> None: ...


def question(path: str) -> ApprovalRequired:
    return ApprovalRequired(
        id=path,
        call_id=path,
        tool="write_file",
        args={"path": path},
        args_hash="",
        reason="it writes",
        preview="",
        expires_at=0,
        subjects=(path,),
    )


def questions(typist: Typist, stops: list[str]) -> Questions:
    screen = Screen(Mask([Secret("a-key-of-ours")]), spins=False)
    return Questions(typist, screen, lambda: stops.append("stopped"))


async def test_the_second_question_is_not_shown_before_the_first_is_answered(capsys: pytest.CaptureFixture[str]):
    typist = Typist()
    asking = questions(typist, [])
    both = [asyncio.create_task(asking.ask(question(path))) for path in ("a.txt", "b.txt")]
    for _ in range(20):
        await asyncio.sleep(0)
    assert typist.asked == 1
    typist.words.put_nowait("y")
    assert await both[0] == Approve()
    await until(lambda: typist.asked == 2)
    seen = capsys.readouterr().err
    assert seen.index("a.txt") < seen.index("b.txt") and seen.count("asks first") == 2
    typist.words.put_nowait("not there")
    assert await both[1] == Reject("not there")


async def test_while_a_question_is_shown_nothing_else_is_drawn():
    typist = Typist()
    asking = questions(typist, [])
    asked = asyncio.create_task(asking.ask(question("a.txt")))
    await until(lambda: typist.asked)
    assert asking.at_rest.locked()
    typist.words.put_nowait("")
    assert await asked == Reject()
    assert not asking.at_rest.locked()


async def test_ctrl_c_leaves_the_question_open_and_stops_the_answer():
    typist, stops = Typist(), list[str]()
    typist.words.put_nowait("^C")
    assert await questions(typist, stops).ask(question("a.txt")) is None
    assert stops == ["stopped"]


async def test_a_key_of_ours_is_not_shown_in_a_question(capsys: pytest.CaptureFixture[str]):
    typist = Typist()
    typist.words.put_nowait("n")
    await questions(typist, []).ask(question("a-key-of-ours"))
    assert "a-key-of-ours" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        ("y", Approve()),
        (" YES ", Approve()),
        ("a", Approve(always=True)),
        ("always", Approve(always=True)),
        ("", Reject()),
        ("N", Reject()),
        ("ja", Reject("ja")),
        ("y but not now", Reject("y but not now")),
    ],
)
def test_only_a_plain_yes_is_one(word: str, answer: Answer):
    assert answer_of(word) == answer


def test_a_long_text_is_shown_line_by_line_and_its_tool_and_recipient_once_more_below_it():
    asked = question("notes.txt")
    asked = replace(asked, args={"path": "notes.txt", "content": "\n".join(f"line {n}" for n in range(5_000))})
    rows = described(asked).splitlines()
    assert "    content: 5,000 lines" in rows and "      | line 4999" in rows
    assert rows[-1] == "  This was write_file to notes.txt; scroll up to read it"


def test_a_line_of_a_text_cannot_pass_for_a_row_of_the_question():
    asked = replace(question("a.txt"), args={"content": "x\n    to b.txt\n  run it? \x1b[2J"})
    rows = described(asked).splitlines()
    assert "      |     to b.txt" in rows and "      |   run it? \\x1b[2J" in rows
    assert "This was" not in rows[-1]
