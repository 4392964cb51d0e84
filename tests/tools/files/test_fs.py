"""The files that an agent's own tools get."""

import asyncio
from pathlib import Path

import pytest

from pollux.core.errors import PolicyError, PolluxError, ToolError, ValidationError
from pollux.tools.files.fs import AgentFs
from pollux.tools.files.root import Root


@pytest.fixture
def fs(tmp_path: Path) -> AgentFs:
    (tmp_path / "root").mkdir()
    (tmp_path / "secret.txt").write_text("outside")
    return AgentFs(Root(tmp_path / "root"))


async def test_text_comes_back_as_it_was_written(fs: AgentFs):
    text = "\ufeffone\r\ntwo\n☃"
    await fs.write_file("notes/today.md", text)
    assert await fs.read_file("notes/today.md") == text
    assert await fs.read_file(fs.root.path / "notes" / "today.md") == text


async def test_a_missing_file_is_none(fs: AgentFs):
    assert await fs.read_file("missing.txt") is None


async def test_outside_the_root_reading_and_writing_raise(fs: AgentFs, tmp_path: Path):
    for path in ("../secret.txt", tmp_path / "secret.txt", "../missing.txt"):
        with pytest.raises(PolicyError) as read:
            await fs.read_file(path)
        with pytest.raises(PolicyError) as written:
            await fs.write_file(path, "ours")
        assert read.value.code == written.value.code == "outside_root"
    assert (tmp_path / "secret.txt").read_text() == "outside"


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"\x89PNG\r\n\x1a\n", "0x89 at 0"), (b"caf\xe9", "0xE9 at 3.*iconv"), (b"a\0b", "binary one .NUL at byte 1")],
)
async def test_what_is_no_text_is_refused_in_words(fs: AgentFs, content: bytes, words: str):
    (fs.root.path / "x").write_bytes(content)
    with pytest.raises(ToolError, match=words):
        await fs.read_file("x")


@pytest.mark.parametrize(
    ("content", "words"), [("a\0", "NUL"), ("\ud800", "surrogate"), (b"bytes", "found bytes"), (None, "None")]
)
async def test_what_cannot_be_read_back_is_not_written(fs: AgentFs, content: str, words: str):
    with pytest.raises(ValidationError, match=words):
        await fs.write_file("x", content)
    assert await fs.read_file("x") is None


async def test_a_hundred_megabytes_are_refused_by_their_size(fs: AgentFs):
    with (fs.root.path / "large").open("wb") as file:
        file.truncate(100_000_000)
    with pytest.raises(ToolError, match=r"100\.0 MB"):
        await fs.read_file("large")
    with pytest.raises(ToolError, match=r"12\.0 MB"):
        await fs.write_file("large", "x" * 12_000_000)
    assert (fs.root.path / "large").stat().st_size == 100_000_000


async def test_many_at_once_do_not_disturb_one_another(fs: AgentFs):
    await asyncio.gather(*(fs.write_file(f"many/{number % 10}.txt", "x" * number) for number in range(50)))
    sizes = [len(await fs.read_file(f"many/{number}.txt") or "") % 10 for number in range(10)]
    assert sizes == list(range(10))
    with pytest.raises(PolluxError):
        await fs.read_file("many")
