"""What is drawn: Markdown piece by piece, rows that fold, and lines from a pipe."""

import asyncio
import io
import os
import re
import unicodedata
from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.waiting import HANG_SECONDS

from pollux.cli.chat import spinner
from pollux.cli.chat.commands import command_of
from pollux.cli.chat.keys import Piped
from pollux.cli.chat.markdown import BOLD, CODE, DIM, ITALIC, RESET, STRUCK, Markdown, Plain
from pollux.cli.folding import folded

STYLE = re.compile(r"\x1b\[[0-9]+m")
TEXTS = st.text(st.sampled_from("ab \n\t#>-*_~`\\1.[]()|\x1b\r\u202eé"), max_size=80)


def drawn(*pieces: str) -> str:
    markdown = Markdown()
    return "".join([*(markdown.feed(piece) for piece in pieces), markdown.finish()])


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("a **b** c", f"a {BOLD}b{RESET} c"),
        ("a *b* _c_", f"a {ITALIC}b{RESET} {ITALIC}c{RESET}"),
        ("***b***", f"{BOLD}{ITALIC}b{RESET}"),
        ("~~b~~", f"{STRUCK}b{RESET}"),
        ("`a*b*`", f"{CODE}a*b*{RESET}"),
        ("``a`b``", f"{CODE}a`b{RESET}"),
        ("**a `b` c**", f"{BOLD}a {CODE}b{RESET}{BOLD} c{RESET}"),
        ("## Title\nx", f"{BOLD}Title{RESET}\nx"),
        ("- a\n  * b\n1. c", "• a\n  • b\n1. c"),
        ("> a", f"{DIM}│{RESET} a"),
        ("a\n---\nb", f"a\n{DIM}---{RESET}\nb"),
        ("```py\n**a**\n```\nb", f"{DIM}```py{RESET}{CODE}\n**a**\n{RESET}{DIM}```{RESET}\nb"),
        ("~~~\n```\n~~~", f"{DIM}~~~{RESET}{CODE}\n```\n{RESET}{DIM}~~~{RESET}"),
        (r"\*a\*", "*a*"),
    ],
)
def test_marks_become_styles(written: str, seen: str):
    assert drawn(written) == seen


@pytest.mark.parametrize(
    "text",
    [
        "2 * 3 * 4 and 2*3*4",
        "snake_case_name and __init__.py's _x",
        "call f(**kwargs) or *args",
        "an open `tick\nand **bold\nand # no heading",
        "-5 degrees, #hashtag, ~5 km",
        "[a link](https://example.com/a_b_c) and ![an image](x.png)",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "C:\\dir\\file",
    ],
)
def test_what_marks_nothing_stays_as_it_was_written(text: str):
    assert drawn(text) == text


def test_words_are_drawn_as_they_come():
    markdown = Markdown()
    assert markdown.feed("some wor") == "some wor"
    assert markdown.feed("ds **and") == "ds "
    assert markdown.feed(" bold** x") == f"{BOLD}and bold{RESET} x"


def test_code_is_drawn_as_it_comes():
    markdown = Markdown()
    markdown.feed("```\n")
    assert markdown.feed("print(") == "print("


def test_a_mark_that_never_closes_is_not_waited_for_without_end():
    markdown = Markdown()
    assert "x" in markdown.feed("**" + "x" * 5_000)


@given(text=TEXTS, cuts=st.lists(st.integers(0, 80), max_size=8))
def test_it_does_not_matter_how_a_text_is_cut(text: str, cuts: list[int]):
    at = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    assert drawn(*(text[a:b] for a, b in pairwise(at))) == drawn(text)


@given(text=st.text(max_size=80) | TEXTS)
def test_no_control_character_is_drawn_but_our_own_and_every_style_ends(text: str):
    for seen in (drawn(text), Plain().feed(text)):
        bare = STYLE.sub("", seen)
        assert not [char for char in bare if unicodedata.category(char) == "Cc" and char not in "\n\t"]
        assert not set("\u202e\u2066\u200b") & set(bare)
    styles = STYLE.findall(drawn(text))
    assert not styles or styles[-1] == RESET


def test_a_long_row_goes_on_further_in():
    assert folded("    to " + "x" * 30 + "\nshort", 20) == "\n".join(
        ["    to xxxxxxxxxxxx", "      | xxxxxxxxxxx", "      | xxxxxxx", "short"]
    )


def test_wide_characters_count_twice_and_a_pipe_folds_nothing():
    assert folded("界" * 10, 16) == "界" * 7 + "\n  | " + "界" * 3
    assert folded("x" * 500, None) == "x" * 500


@given(st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Mn"]), max_size=60), st.integers(1, 40))
def test_folding_drops_nothing_and_fits(text: str, columns: int):
    rows = folded(f"    a: {text}", columns).split("\n")
    assert rows[0] + "".join(row.split("| ", 1)[1] for row in rows[1:]) == f"    a: {text}"
    assert all(len(row) < max(columns, 16) for row in rows)


async def test_the_seconds_count_from_the_start_and_leave_no_trace(monkeypatch: pytest.MonkeyPatch):
    now, out = iter([50.0, 50.1, 51.2, 60.0]), io.StringIO()
    over = asyncio.Event()

    def read() -> float:
        if (seconds := next(now, None)) is None:
            over.set()
        return seconds or 60.0

    monkeypatch.setattr(spinner, "time", SimpleNamespace(monotonic=read))
    monkeypatch.setattr(spinner, "EVERY", 0)
    spinning = spinner.Spinner(out)
    spinning.start("waiting")
    async with asyncio.timeout(HANG_SECONDS):
        await over.wait()
    spinning.stop()
    shown = out.getvalue().split("\r")[1:]
    assert shown[:3] == ["| waiting 0 s", "/ waiting 1 s", "- waiting 10 s"]
    assert shown[-2:] == [" " * len("- waiting 10 s"), ""]


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("/help", ("help", "")),
        ("  /Model  gemini-x ", ("model", "gemini-x")),
        ("/?", ("help", "")),
        ("/exit", ("quit", "")),
        ("/etc/passwd", None),
        ("/", None),
        ("what is /help", None),
        ("/help\nand more", None),
    ],
)
def test_a_command_is_a_slash_and_a_word(words: str, command: tuple[str, str] | None):
    assert command_of(words) == command


async def test_lines_come_whole_whatever_pieces_they_arrive_in():
    reading, writing = os.pipe()
    try:
        keys = Piped(reading)
        os.write(writing, b"one\r\nt")
        assert await keys.prompt() == "one"
        os.write(writing, b"wo\n\nthree\\\nfour\\")
        assert [await keys.prompt(), await keys.prompt()] == ["two", ""]
        os.close(writing)
        assert [await keys.prompt(), await keys.prompt()] == ["three\nfour", None]
    finally:
        os.close(reading)
