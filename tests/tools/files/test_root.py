"""Reading, writing and listing beneath a root, in both ways of resolving a path."""

import os
import stat
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.tools.files.world import WAYS, Way, descriptors

from pollux.core.errors import PolicyError, PolluxError, ToolError, ValidationError
from pollux.tools.files.listing import Entry
from pollux.tools.files.names import Names
from pollux.tools.files.root import MAX_BYTES, MAX_WALKED, Root


@pytest.fixture(params=WAYS)
def root(tmp_path: Path, request: pytest.FixtureRequest) -> Root:
    way: Way = request.param
    (tmp_path / "root").mkdir()
    return Root(tmp_path / "root", way=way)


def test_what_was_written_is_read_and_the_folders_are_made(root: Root):
    root.write("a/b/c.txt", b"one\r\n\xff")
    assert root.read("a/b/c.txt") == b"one\r\n\xff"
    assert [entry.path for entry in root.walk()] == ["a", "a/b", "a/b/c.txt"]


@pytest.mark.parametrize("path", ["missing", "missing/too", "file/beneath", "a/../missing"])
def test_a_missing_file_reads_as_none(root: Root, path: str):
    root.write("file", b"")
    assert root.read(path) is None
    assert root.stat(path) is None


@pytest.mark.parametrize("path", ["a/x", "./a/x", "a//x", "a/./x", "b/../a/x", "a/x/", "b/../b/../a/x"])
def test_one_file_has_many_spellings(root: Root, path: str):
    root.write("b/y", b"")
    root.write("a/x", b"found")
    assert root.read(path) == b"found"
    root.write(path, b"changed")
    assert root.read("a/x") == b"changed"
    root.edit(path, bytes.upper)
    assert root.read("a/x") == b"CHANGED"


@pytest.mark.parametrize("path", ["new", "a/../new", "a/b/../../new", "a/../a/../new"])
def test_a_new_file_may_be_named_by_going_back(root: Root, path: str):
    (root.path / "a" / "b").mkdir(parents=True)
    root.write(path, b"made")
    assert root.read("new") == b"made"


def test_a_path_that_shall_be_read_or_written_is_known_by_its_names(root: Root):
    assert root.names("a/../b") == root.readable_names("./b") == root.writable_names(root.path / "b") == ("b",)
    assert root.readable_names(".") == ()
    with pytest.raises(PolicyError, match="kept from tools"):
        root.readable_names("a/.env")
    with pytest.raises(PolicyError, match="not written by tools"):
        root.writable_names("a/.git/config")


def test_what_is_at_a_path_can_be_looked_at(root: Root):
    root.write("a/x", b"12345")
    found, folder = root.stat("a/x"), root.stat("a")
    assert found is not None and folder is not None
    assert (found.st_size, stat.S_ISDIR(folder.st_mode)) == (5, True)


def test_an_absolute_path_beneath_the_root_is_fine_as_given_and_as_resolved(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to("real")
    root = Root(tmp_path / "alias")
    root.write(str(tmp_path / "alias" / "x"), b"1")
    assert root.read(tmp_path / "real" / "x") == b"1"
    assert root.path == tmp_path / "real"


def test_a_file_is_replaced_at_once_and_keeps_its_mode_and_owner(root: Root):
    place = root.path / "run.sh"
    place.write_bytes(b"old")
    place.chmod(0o751)
    before = place.stat()
    with place.open("rb") as reader:
        root.write("run.sh", b"new")
        assert reader.read() == b"old"
    after = place.stat()
    assert (stat.S_IMODE(after.st_mode), after.st_uid) == (0o751, before.st_uid)
    assert after.st_ino != before.st_ino
    assert os.listdir(root.path) == ["run.sh"]


def test_a_new_file_has_the_mode_that_the_user_s_umask_gives(root: Root):
    with (root.path / "theirs").open("w"):
        root.write("ours", b"")
    assert root.path.joinpath("ours").stat().st_mode == root.path.joinpath("theirs").stat().st_mode


def test_a_write_that_fails_leaves_everything_as_it_was(root: Root, monkeypatch: pytest.MonkeyPatch):
    root.write("x", b"old")

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ToolError, match="disk is full and nothing was changed"):
        root.write("x", b"new")
    assert (root.read("x"), os.listdir(root.path)) == (b"old", ["x"])


def test_a_reader_sees_the_old_content_or_the_new_and_never_a_part(root: Root):
    contents = [b"a" * 200_000, b"b" * 300_000]
    root.write("x", contents[0])
    done = threading.Event()
    seen: set[bytes | None] = set()

    def read() -> None:
        while not done.is_set():
            seen.add(root.read("x"))

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(50):
        root.write("x", contents[number % 2])
    done.set()
    reader.join()
    assert seen <= set(contents) and seen


def test_a_read_only_file_is_not_replaced(root: Root):
    root.write("x", b"old")
    (root.path / "x").chmod(0o444)
    with pytest.raises(ToolError, match="read-only"):
        root.write("x", b"new")
    assert root.read("x") == b"old"


def test_a_file_that_is_not_there_is_not_edited_and_no_folder_is_made_for_it(root: Root):
    for path in ("missing", "a/b/missing"):
        with pytest.raises(ToolError, match="nothing at this path"):
            root.edit(path, bytes.upper)
    assert os.listdir(root.path) == []


def test_a_link_that_stays_inside_is_read_through_and_not_written_through(root: Root):
    root.write("docs/guide.md", b"text")
    os.symlink("docs/guide.md", root.path / "GUIDE.md")
    os.symlink("docs", root.path / "manual")
    assert root.read("GUIDE.md") == root.read("manual/guide.md") == b"text"
    for path in ("GUIDE.md", "manual/guide.md"):
        with pytest.raises(
            ToolError, match=r"symbolic links, and one leads from here to 'docs/guide\.md'\. Write there"
        ):
            root.write(path, b"changed")
    for path in ("page.md", "new/page.md", "new/er/page.md"):
        with pytest.raises(ToolError, match=f"'docs/{path}'"):
            root.write(f"manual/{path}", b"")
    assert root.read("docs/guide.md") == b"text"
    assert (root.path / "GUIDE.md").is_symlink()


def test_back_from_a_linked_folder_is_where_the_kernel_says_and_is_not_written(root: Root):
    root.write("a/b/x", b"")
    root.write("a/y", b"beside b")
    os.symlink("a/b", root.path / "link")
    assert root.read("link/../y") == b"beside b"
    with pytest.raises(ToolError, match="symbolic links"):
        root.write("link/../y", b"")


@pytest.mark.parametrize("path", ["link", "a/b/link"])
def test_a_link_that_leads_nowhere_is_missing_and_is_not_written(root: Root, path: str):
    root.write("a/b/c", b"")
    os.symlink("nowhere", root.path / path)
    assert root.read(path) is None
    with pytest.raises(ToolError, match="leads nowhere"):
        root.write(path, b"")
    assert not (root.path / path).with_name("nowhere").exists()


def test_links_that_go_round_end_in_words(root: Root):
    os.symlink("b", root.path / "a")
    os.symlink("a", root.path / "b")
    for attempt in (lambda: root.read("a"), lambda: root.write("a", b""), lambda: root.write("a/x", b"")):
        with pytest.raises(ToolError, match="round in symbolic links"):
            attempt()


def test_a_file_of_several_names_is_read_when_everybody_may_and_never_written_through(root: Root, tmp_path: Path):
    shared = tmp_path / "shared"
    shared.write_bytes(b"package")
    os.link(shared, root.path / "linked")
    assert root.read("linked") == b"package"
    root.write("linked", b"mine")
    assert (shared.read_bytes(), root.read("linked")) == (b"package", b"mine")
    shared.chmod(0o600)
    os.link(shared, root.path / "private")
    for attempt in (lambda: root.read("private"), lambda: root.edit("private", bytes.upper)):
        with pytest.raises(PolicyError, match="hard links") as refused:
            attempt()
        assert refused.value.code == "outside_root"
    shared.unlink()
    assert root.read("private") == b"package"


def test_a_folder_is_no_file_and_a_file_is_no_folder(root: Root):
    root.write("a/x", b"")
    with pytest.raises(ToolError, match="found a folder"):
        root.read("a")
    with pytest.raises(ToolError, match="found a folder"):
        root.write("a", b"")
    with pytest.raises(ToolError, match="found a file"):
        root.list("a/x")
    with pytest.raises(ToolError, match="found a file"):
        root.write("a/x/y", b"")
    with pytest.raises(ToolError, match="no folder at this path"):
        root.list("missing")
    with pytest.raises(ValidationError, match="the working folder itself"):
        root.write(".", b"")


def test_a_fifo_with_nobody_at_the_other_end_holds_nobody_up(root: Root):
    os.mkfifo(root.path / "pipe")
    with pytest.raises(ToolError, match="found a FIFO"):
        root.read("pipe")
    with pytest.raises(ToolError, match="found a FIFO"):
        root.write("pipe", b"")
    assert [entry.type for entry in root.list()] == ["other"]


def test_a_large_file_is_refused_by_its_size_without_being_read(root: Root):
    with (root.path / "large").open("wb") as file:
        file.truncate(100_000_000)
    with pytest.raises(ToolError, match=r"100\.0 MB, and at most 10\.0 MB.*`head`"):
        root.read("large")
    with pytest.raises(ToolError, match=r"10\.0 MB, and at most 10\.0 MB are written"):
        root.write("larger", bytes(10_000_001))
    assert root.read("large", limit=100_000_000) == bytes(100_000_000)
    assert not (root.path / "larger").exists()


def test_the_bounds_are_where_they_are_said_to_be(root: Root):
    assert (MAX_BYTES, MAX_WALKED) == (10_000_000, 100_000)
    root.write("x", b"12345", limit=5)
    assert root.read("x", limit=5) == b"12345"
    root.edit("x", bytes.upper, limit=5)
    for attempt, done in (
        (lambda: root.read("x", limit=4), "read"),
        (lambda: root.write("x", b"12345", limit=4), "written"),
        (lambda: root.edit("x", lambda _: b"1", limit=4), "read"),
        (lambda: root.edit("x", lambda _: b"123456", limit=5), "written"),
    ):
        with pytest.raises(ToolError, match=f"MB are {done} at once"):
            attempt()
    assert root.read("x") == b"12345"


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="there is no /proc")
@pytest.mark.parametrize("way", WAYS)
def test_a_file_is_as_large_as_what_is_read_of_it_and_not_as_it_says(way: Way):
    root = Root("/proc/self", way=way)
    content = root.read("comm")
    assert content and root.path.joinpath("comm").stat().st_size == 0
    assert root.read("comm", limit=len(content)) == content
    with pytest.raises(ToolError, match="are read at once"):
        root.read("comm", limit=len(content) - 1)


def test_an_edit_is_one_step_among_those_who_share_the_root(root: Root):
    root.write("count", b"0")

    def count() -> None:
        for _ in range(20):
            root.edit("count", lambda content: b"%d" % (int(content) + 1))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert root.read("count") == b"80"


def test_a_listing_names_everything_and_follows_nothing(root: Root):
    root.write("b/inner", b"")
    root.write("a", b"")
    os.symlink("/etc", root.path / "c")
    assert root.list() == [Entry("a", "file"), Entry("b", "directory"), Entry("c", "link")]
    assert root.list("b") == [Entry("b/inner", "file")]
    assert [entry.path for entry in root.walk()] == ["a", "b", "c", "b/inner"]
    assert list(root.walk("a")) == [Entry("a", "file")]
    for limit, walked, listed in ((0, 0, 0), (2, 2, 2), (3, 3, 3), (4, 4, 3), (9, 4, 3)):
        assert (len(list(root.walk(limit=limit))), len(root.list(limit=limit))) == (walked, listed)


def test_names_that_are_no_text_are_shown_and_cannot_be_asked_for(root: Root):
    Path(os.fsdecode(bytes(root.path) + b"/\xff\xfe")).write_bytes(b"")
    (root.path / "two\nlines").write_bytes(b"")
    assert [entry.name for entry in root.list()] == ["two\nlines", "\ufffd\ufffd"]
    assert list(root.walk()) == []


def test_a_walk_enters_neither_what_is_protected_nor_what_the_caller_refuses(tmp_path: Path):
    root = Root(tmp_path, protected=["keys"])
    for path in ("keys/k", "skip/s", "in/i"):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).touch()
    asked: list[Names] = []

    def enter(names: Names) -> bool:
        asked.append(names)
        return names != ("skip",)

    assert [entry.path for entry in root.walk(enter=enter)] == ["in", "keys", "skip", "in/i"]
    assert asked == [("in",), ("keys",), ("skip",)]


def test_what_may_only_be_read_is_not_written(tmp_path: Path):
    root = Root(tmp_path, readable=["vendor", tmp_path / "lock"])
    (tmp_path / "vendor").mkdir()
    (tmp_path / "vendor" / "x").write_bytes(b"theirs")
    assert root.read("vendor/x") == b"theirs"
    for path in ("vendor/x", "Vendor/new", "lock"):
        with pytest.raises(PolicyError, match="not written by tools"):
            root.write(path, b"")


def test_what_is_protected_may_be_named_through_a_link(tmp_path: Path):
    (tmp_path / "root" / "state").mkdir(parents=True)
    (tmp_path / "root" / "state" / "key").write_bytes(b"key")
    (tmp_path / "alias").symlink_to("root/state")
    root = Root(tmp_path / "root", protected=[tmp_path / "alias"])
    with pytest.raises(PolicyError, match="kept from tools"):
        root.read("state/key")


def test_what_is_protected_stays_so_by_its_name_when_the_link_there_is_gone(tmp_path: Path):
    (tmp_path / "keys").symlink_to("state")
    root = Root(tmp_path, protected=["keys"])
    (tmp_path / "keys").unlink()
    for path in ("keys/seal.key", "state/seal.key"):
        with pytest.raises(PolicyError, match="kept from tools"):
            root.write(path, b"")


def test_a_protected_name_is_not_read_wherever_a_link_by_that_name_leads(root: Root):
    root.write("plain", b"key")
    os.symlink("plain", root.path / ".env")
    with pytest.raises(PolicyError, match="kept from tools"):
        root.read(".env")


def test_a_root_inside_what_is_protected_is_refused(tmp_path: Path):
    (tmp_path / "home" / "inner").mkdir(parents=True)
    for place in ("home", "home/inner"):
        with pytest.raises(ValidationError, match="Work in another folder"):
            Root(tmp_path / place, protected=[tmp_path / "home"])


@pytest.mark.parametrize("place", ["missing", "file", "a\0b"])
def test_a_root_must_be_a_folder(tmp_path: Path, place: str):
    (tmp_path / "file").touch()
    with pytest.raises(ValidationError, match="expected a folder to work in"):
        Root(tmp_path / place)


def test_the_folder_is_held_whatever_happens_to_its_name(root: Root):
    root.write("x", b"kept")
    root.path.rename(root.path.with_name("moved"))
    root.path.mkdir()
    (root.path / "x").write_bytes(b"another")
    assert root.read("x") == b"kept"


def test_a_closed_root_reaches_nothing(root: Root):
    root.write("x", b"")
    root.close()
    root.close()
    # The number may come back for something else at once: that is not ours.
    other = os.open("/", os.O_RDONLY)
    for attempt in (lambda: root.read("x"), lambda: root.write("x", b""), lambda: root.list()):
        with pytest.raises(ToolError):
            attempt()
    os.close(other)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=st.text() | st.lists(st.sampled_from(["..", ".", "", "a", "b", "link", "~", ".env", "\0", "ü"])).map("/".join)
)
def test_any_text_as_a_path_is_answered_or_refused_in_words(root: Root, path: str):
    if not os.path.lexists(root.path / "link"):
        os.symlink("../..", root.path / "link")
    for attempt in (root.read, root.stat, root.list, root.walk):
        with suppress(PolluxError):
            attempt(path)
    with suppress(PolluxError):
        root.write(path, b"")
        assert root.read(path) == b""


@pytest.mark.slow
def test_no_descriptor_is_left_open(root: Root):
    before = descriptors()
    root.write("a/b/x", b"1")
    (root.path / ".env").touch()
    os.symlink("..", root.path / "a" / "up")
    os.symlink(".env", root.path / "key")
    os.mkfifo(root.path / "pipe")
    for path in ("a/b/x", "a/up/a/b/x", "a", "missing", "../x", ".env", "key", "a/up/../../x", "a/../a/b/x", "pipe"):
        with suppress(PolicyError, ToolError):
            root.read(path)
        with suppress(PolicyError, ToolError):
            root.write(path, b"")
        with suppress(PolicyError, ToolError):
            root.edit(path, bytes.upper)
        with suppress(PolicyError, ToolError):
            root.list(path)
        with suppress(PolicyError, ToolError):
            list(root.walk(path))
        with suppress(PolicyError, ToolError):
            root.stat(path)
    assert descriptors() == before
    root.close()
    assert descriptors() == before - 1
