"""`pollux run` at a real terminal: the person is asked there, one question at a time, and no is the default."""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.cli.chats import Place
from tests.cli.terminal import ENTER, Terminal

from pollux.emulator import run_emulator

QUESTION = "run it?"
WRITE = 'call write_file {"path": "a.txt", "content": "one"}'


@pytest.fixture
async def place(tmp_path: Path) -> AsyncGenerator[Place]:
    async with run_emulator() as emulator:
        yield Place(tmp_path, emulator)


@asynccontextmanager
async def running(place: Place, prompt: str) -> AsyncGenerator[Terminal]:
    command = [sys.executable, "-W", "error", "-m", "pollux.cli", "run", prompt]
    terminal = Terminal(command, cwd=place.work, env=place.env)
    try:
        yield terminal
    finally:
        terminal.close()


async def test_a_yes_runs_it(place: Place):
    async with running(place, WRITE) as terminal:
        shown = await terminal.until(QUESTION)
        assert "to a.txt" in shown and "content: one" in shown
        terminal.type("y" + ENTER)
        assert await terminal.ended() == 0
        assert (place.work / "a.txt").read_text() == "one"


@pytest.mark.parametrize("typed", ["", "n", "not today"])
async def test_anything_else_is_a_no(place: Place, typed: str):
    async with running(place, WRITE) as terminal:
        await terminal.until(QUESTION)
        terminal.type(typed + ENTER)
        assert await terminal.ended() == 0
        assert not (place.work / "a.txt").exists()


async def test_two_questions_are_asked_one_after_the_other(place: Place):
    async with running(place, WRITE + ' call write_file {"path": "b.txt", "content": "two"}') as terminal:
        for answer in ("y", "n"):
            await terminal.until(QUESTION)
            terminal.type(answer + ENTER)
        assert await terminal.ended() == 0
        assert len(list(place.work.glob("*.txt"))) == 1


async def test_arguments_cannot_draw_on_the_screen(place: Place):
    async with running(place, 'call write_file {"path": "a.txt", "content": "\\u001b[2Jx\\u202ey"}') as terminal:
        shown = await terminal.until(QUESTION)
        assert "\\x1b[2Jx\\u202ey" in shown
        terminal.type(ENTER)
        await terminal.ended()
