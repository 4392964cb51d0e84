"""The file of signed heads while processes use it: what is taken out of it shows, and what is honest does not."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.stores.postgres import fresh_database

from pollux.core.errors import StoreError
from pollux.engine.adoption import adopt
from pollux.engine.ports import AuditFact, Change, Store
from pollux.stores.audit import Tip
from pollux.stores.head_lines import MOST_WASTE, signed_line
from pollux.stores.heads import Heads
from pollux.stores.postgres.store import PostgresStore
from pollux.stores.sqlite import SqliteStore

KEY = b"k" * 32
KINDS = ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)]


def tip(seq: int, lineage: str = "") -> Tip:
    return Tip(seq, f"{seq:064x}", lineage)


def signed(path: Path, *numbers: int) -> Heads:
    heads = Heads(path, KEY)
    for seq in numbers:
        heads.append(tip(seq), 1.0)
    return heads


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


CUTS: dict[str, Callable[[Path], object]] = {
    "emptied": lambda path: path.write_bytes(b""),
    "removed": lambda path: path.unlink(),
    "cut": lambda path: path.write_bytes(lines(path)[0]),
    "cut in the middle of a line": lambda path: path.write_bytes(path.read_bytes()[:-30]),
    "one line out of it": lambda path: path.write_bytes(b"".join(lines(path)[:1] + lines(path)[2:])),
    "replaced by heads that were given away": lambda path: path.write_text(signed_line(tip(3), 1.0, KEY) + "\n"),
    "as long as before": lambda path: path.write_bytes(b"x" * path.stat().st_size),
}


@pytest.mark.parametrize("cut", CUTS)
def test_lines_that_are_taken_out_under_a_running_process_show_at_any_time_later(
    tmp_path: Path, cut: str, caplog: pytest.LogCaptureFixture
):
    path = tmp_path / "heads"
    heads = signed(path, 1, 2, 3)
    CUTS[cut](path)
    for seq in (4, 5):
        heads.append(tip(seq), 1.0)
    assert caplog.text.count("was cut or replaced while in use") == 1
    signed(path, 6)
    found = Heads(path, KEY).read()
    assert (list(found.gaps), found.forged, found.heads[-1].seq) == ([3 if "one line" in cut else 4], 0, 6)


def test_a_process_that_has_only_read_the_heads_notices_too(tmp_path: Path):
    path = tmp_path / "heads"
    signed(path, *range(1, 40))
    heads = Heads(path, KEY)
    heads.newest()
    path.write_bytes(b"")
    heads.newest()
    heads.append(tip(40), 1.0)
    assert heads.read().gaps == [40]


def test_processes_that_take_turns_and_lines_that_a_crash_tore_leave_no_gap(tmp_path: Path):
    path = tmp_path / "heads"
    one, other = signed(path, 1), Heads(path, KEY)
    for seq in range(2, 50, 2):
        other.append(tip(seq), 1.0)
        if seq % 6 == 0:
            with path.open("ab") as file:
                file.write(b'{"seq": 9, "ha')
        if seq % 20 == 0:
            one.append(tip(seq + 1), 1.0)
    moved = tmp_path / "moved"
    path.rename(moved)
    path.symlink_to(moved)
    one.append(tip(50), 1.0)
    assert (list(one.read().gaps), one.read().heads[-1].seq) == ([], 50)


def test_a_head_that_could_not_be_written_leaves_no_gap(tmp_path: Path):
    path, away = tmp_path / "heads", tmp_path / "away"
    heads = signed(path, 1)
    path.rename(away)
    path.mkdir()
    heads.append(tip(2), 1.0)
    path.rmdir()
    away.rename(path)
    heads.append(tip(3), 1.0)
    assert ([each.seq for each in heads.read().heads], list(heads.read().gaps)) == ([1, 3], [])


def test_an_older_file_that_was_put_back_and_adopted_leaves_no_gap(tmp_path: Path):
    path = tmp_path / "heads"
    heads = signed(path, 1, 2)
    path.write_bytes(lines(path)[0])
    heads.append(tip(2, "lin_1"), 1.0)
    assert heads.read().gaps == []


def test_lines_of_older_versions_come_first_or_show(tmp_path: Path):
    path = tmp_path / "heads"
    path.write_text("".join(f"{signed_line(tip(seq), 1.0, KEY)}\n" for seq in (1, 2)))
    assert signed(path, 3, 4).read().gaps == []
    with path.open("a") as file:
        file.write(signed_line(tip(5), 1.0, KEY) + "\n")
    assert signed(path, 6).read().gaps == [5]


def test_lines_that_only_a_hostile_hand_writes_are_passed_over(tmp_path: Path):
    path = tmp_path / "heads"
    heads = signed(path, 1)
    with path.open("ab") as file:
        for text in ("[" * 3_000, '{"seq":1e999,"hash":"","sig":""}', '{"seq":1,"hash":"\\ud800","sig":""}', "[]", "7"):
            file.write(text.encode() + b"\n")
    heads.append(tip(2), 1.0)
    found = heads.read()
    assert ([each.seq for each in found.heads], found.forged, found.gaps) == ([1, 2], 0, [])
    with path.open("ab") as file:
        file.write(b'{"seq":1,"hash":"a","sig":"\\u00e9"}\n')
    assert heads.read().forged == 1


OTHERS: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "a device": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_what_is_no_regular_file_is_neither_waited_for_nor_read(tmp_path: Path, other: str):
    path = tmp_path / "heads"
    OTHERS[other](path)
    heads = signed(path, 1)
    assert heads.read().unreadable == heads.newest().unreadable == "it is not a regular file"
    with pytest.raises(StoreError, match=r"heads, found: it is not a regular file"):
        heads.open(make=True)
    # Elsewhere it may be one that takes heads and gives none back.
    assert not Heads(tmp_path / "own", KEY, path).newest().unreadable


def test_a_file_without_end_is_given_up_early(tmp_path: Path):
    path = tmp_path / "heads"
    heads = signed(path, 1)
    os.truncate(path, 1 << 40)
    assert heads.read().unreadable == "it holds much that is no head"
    os.truncate(path, MOST_WASTE // 2)
    assert [each.seq for each in heads.read().heads] == [1]


def store_of(kind: str, folder: Path, around: ExitStack, heads: Path) -> Callable[[], Store]:
    if kind == "sqlite":
        return lambda: SqliteStore(folder / "pollux.db", key=KEY, heads=heads)
    url = around.enter_context(fresh_database())
    return lambda: PostgresStore(url, key=KEY, heads=heads)


async def note(store: Store, at: float) -> None:
    await store.commit(Change(audit=(AuditFact(at, "started", "ada"),)))


async def empty_under(store: Store, heads: Path) -> None:
    await store.open()
    await note(store, 1.0)
    heads.write_bytes(b"")
    await note(store, 2.0)
    await store.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_heads_that_are_emptied_under_a_running_store_are_named_for_good(tmp_path: Path, kind: str):
    with ExitStack() as around:
        heads = tmp_path / "heads"
        made = store_of(kind, tmp_path, around, heads)
        await empty_under(made(), heads)
        store = made()
        await store.open()
        await note(store, 3.0)
        said = "lost heads: lines of the file of signed heads are missing before that of entry 2"
        assert (await store.verify_audit()).problems == (said,)
        await store.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_heads_that_cannot_be_read_are_named_and_no_store_opens_beside_them(tmp_path: Path, kind: str):
    with ExitStack() as around:
        heads, away = tmp_path / "heads", tmp_path / "away"
        made = store_of(kind, tmp_path, around, heads)
        store = made()
        await store.open()
        await note(store, 1.0)
        heads.rename(away)
        os.mkfifo(heads)
        await note(store, 2.0)
        said = "lost heads: the file of signed heads cannot be read: it is not a regular file"
        assert (await store.verify_audit()).problems == (said,)
        assert not (await store.verify_part(0, "0" * 64, 100)).is_sound
        await store.close()
        other = made()
        with pytest.raises(StoreError, match=r"heads, found: it is not a regular file\. Check who"):
            await other.open()
        heads.unlink()
        away.rename(heads)
        # Nothing was noted of it: the file is there again.
        await other.open()
        assert await other.restored() == ""
        assert (await other.verify_audit()).problems == ()
        await other.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_after_a_gap_the_heads_are_moved_away_and_the_store_goes_on(tmp_path: Path, kind: str):
    with ExitStack() as around:
        heads = tmp_path / "heads"
        made = store_of(kind, tmp_path, around, heads)
        await empty_under(made(), heads)
        heads.rename(tmp_path / "kept for a closer look")
        store = made()
        await store.open()
        if kind == "sqlite":
            assert await adopt(store, by="root", at=3.0) == 0
        await note(store, 4.0)
        assert (await store.verify_audit()).problems == ()
        await store.close()
