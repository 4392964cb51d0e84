"""What was there before the first of the commands that are at work, and what people made since one was killed."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.waiting import block_until

from pollux.tools.shell import at_work as module
from pollux.tools.shell.at_work import Unrecorded, Work
from pollux.tools.shell.control_files import Found, control_files


class Command:
    """One that is at work in a folder from here on."""

    def __init__(self, root: Path, *, taken: tuple[str, ...] = (), endings: tuple[str, ...] = ()) -> None:
        self.root = str(root)
        self.records = root.parents[len(root.parts) - root.parts.index("work") - 1] / "records"
        self.work = Work(self.records, self.root, endings=endings, timeout=None)
        self.found = self.work.begin(lambda: control_files(self.root, endings=endings), taken=taken)

    def end(self) -> list[str]:
        """What was there before, by what it would set aside."""
        before: list[Found] = []
        self.work.end(before.append)
        return sorted(os.path.relpath(place, self.root) for place in {**before[0].hidden, **before[0].kept})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    write(tmp_path / "work", "mine/.env")
    return tmp_path / "work"


def write(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")


def kill(command: Command, *, until: float | None = None) -> Path:
    """As if its process had been killed: the record stays, and nothing locks it."""
    (path,) = command.records.glob("*.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "until": until}))
    os.rename(path, path.with_suffix(".moved"))
    command.work.end(lambda _: None)
    path.write_bytes(path.with_suffix(".moved").read_bytes())
    return path


def test_what_was_made_since_the_first_began_was_not_there(root: Path):
    first = Command(root)
    write(root, "new/.env")
    second = Command(root)
    assert first.end() == ["mine/.env"] and len(second.found.hidden) == 2
    third = Command(root)
    assert second.end() == third.end() == ["mine/.env"]
    assert Command(root).end() == ["mine/.env", "new/.env"]


def test_a_folder_below_or_above_shares_what_lies_in_both(root: Path):
    write(root, "sub/.env")
    below = Command(root / "sub")
    write(root, "sub/new/.env", "other/.env")
    above = Command(root)
    write(root, "sub/newer/.env", "other/new/.env")
    assert Command(root / "sub").end() == below.end() == [".env"]
    assert Command(root / "other").end() == [".env"]
    assert above.end() == ["mine/.env", "other/.env", "sub/.env"]


def test_a_place_that_is_only_taken_was_not_there(root: Path):
    first = Command(root / "mine", taken=(f"{root}/mine/.env",))
    assert Command(root).end() == [] and first.end() == []


def closed_mine(place: str, mode: int) -> bool:
    return not place.endswith("mine")


def test_what_a_folder_held_that_a_command_closed_was_there(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "access", closed_mine)
    first = Command(root)
    monkeypatch.undo()
    opened = Command(root)
    assert first.end() == opened.end() == ["mine"]


ELSEWHERE: dict[str, Callable[[Path], Command]] = {
    "a folder in which other names count": lambda root: Command(root / "node_modules/x"),
    "a folder of an agent": lambda root: Command(root / ".claude/skills"),
    "a part of a repository": lambda root: Command(root / ".git/modules/x"),
    "names of which another version does not know": lambda root: Command(root, endings=(".x",)),
}


@pytest.mark.parametrize("where", ELSEWHERE)
def test_what_another_one_does_not_look_at_is_not_shared(where: str, root: Path):
    write(root, ".claude/skills/.env", ".git/modules/x/.env", "node_modules/x/.env", "a.x")
    first = Command(root)
    other = ELSEWHERE[where](root)
    found = sorted(os.path.relpath(place, other.root) for place in {**other.found.hidden, **other.found.kept})
    assert other.end() == found != []
    first.end()


def test_a_folder_of_the_same_first_letters_is_another_one(root: Path):
    first = Command(root / "mine")
    write(root, "mine2/.env")
    assert Command(root / "mine2").end() == [".env"] == first.end()


def _same(one: Found, other: Found) -> None:
    assert one.hidden == other.hidden != {} and one.kept == other.kept


def test_what_a_killed_one_made_was_not_there_and_what_people_made_since_was(root: Path):
    killed = Command(root)
    write(root, "new/.env", ".claude/settings.json")
    os.utime(root / "new/.env", (2**33, 2**33))
    until = changed(root / "new/.env")
    path = kill(killed, until=until)
    # Times are as coarse as the system's clock.
    block_until(lambda: changed_again(root / "people/.env") > until)
    write(root, ".claude/more.json")
    second = Command(root)
    assert len(second.found.hidden) == 3 and second.end() == ["mine/.env", "people/.env"]
    assert not path.exists() and len(Command(root).end()) == 4


def changed_again(path: Path) -> float:
    write(path.parent, path.name)
    return changed(path)


def changed(path: Path) -> float:
    return path.stat().st_ctime


def test_a_killed_one_without_a_time_has_ended_soon_after_it_is_seen(root: Path):
    path = kill(Command(root))
    write(root, "new/.env")
    assert Command(root).end() == ["mine/.env"]
    assert 0 < json.loads(path.read_text())["until"] - time.time() <= module.GIVE_UP_SECONDS


def test_a_killed_one_is_not_forgotten_by_a_command_in_a_part_of_its_folder(root: Path):
    path = kill(Command(root), until=time.time() - 1)
    Command(root / "mine").end()
    assert path.exists()
    Command(root).end()
    assert not path.exists()


def test_a_record_that_is_none_counts_for_nothing(root: Path):
    first = Command(root)
    for number, text in enumerate(("", "{}", "[1]", '{"root": 1')):
        (first.records / f"{number}.json").write_text(text)
    assert Command(root).end() == ["mine/.env"]


def test_one_that_was_not_looked_through_is_not_recorded(root: Path):
    work = Work(root.parent / "records", str(root), endings=(), timeout=None)
    assert work.begin(lambda: Found(is_whole=False), taken=()) == Found(is_whole=False)
    work.end(lambda _: pytest.fail("nothing was run"))
    assert not list((root.parent / "records").glob("*.json"))


def test_one_that_ends_while_another_looks_keeps_its_record(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.0)
    first = Command(root)
    second = Work(first.records, str(root), endings=(), timeout=None)
    write(root, "new/.env")

    def look() -> Found:
        found = control_files(str(root))
        first.end()
        return found

    second.begin(look, taken=())
    second.end(lambda before: _same(before, Found({f"{root}/mine/.env": ""})))


def test_records_are_for_their_owner_alone(root: Path):
    before = os.umask(0)
    try:
        first = Command(root)
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o077 for path in (first.records, *first.records.iterdir())} == {0}


def test_a_folder_that_cannot_be_written_says_so(root: Path):
    work = Work(root / "mine/.env", str(root), endings=(), timeout=None)
    with pytest.raises(Unrecorded, match=r"cannot be noted in .* Check POLLUX_HOME"):
        work.begin(lambda: control_files(str(root)), taken=())
