"""What an agent was allowed under one name and does under another is one deed, and no more than that one."""

import os
from pathlib import Path

import pytest

from pollux.acp.client import PermissionRequest
from pollux.acp.updates import Diff, ToolCall
from pollux.core.messages import JSON
from pollux.runbooks.agents.matching import MOST_READ, Matching, changes_of


def request(
    *content: Diff,
    raw: JSON = None,
    locations: tuple[str, ...] = (),
    kind: str = "edit",
    title: str = "Edit it",
) -> PermissionRequest:
    return PermissionRequest(
        tool_call_id="asked",
        title=title,
        kind=kind,  # type: ignore[arg-type]
        raw_input=raw,
        locations=locations,
        content=content,
        options=("allow_once",),
    )


def test_leave_for_a_text_is_leave_for_that_file_with_that_text_and_once(tmp_path: Path) -> None:
    matching = Matching(str(tmp_path))
    matching.allowed(request(Diff(str(tmp_path / "a.txt"), None, "new")))
    assert not matching.takes_edit("a.txt", "newer") and not matching.takes_edit("b.txt", "new")
    assert matching.takes_edit("a.txt", "new") and not matching.takes_edit("a.txt", "new")


def test_leave_for_a_part_is_leave_for_the_file_as_it_stands_with_that_part_changed(tmp_path: Path) -> None:
    matching = Matching(str(tmp_path))
    matching.allowed(request(Diff("a.txt", "two", "2")))
    assert not matching.takes_edit("a.txt", "one 2 three"), "there is no such file"
    (tmp_path / "a.txt").write_text("one two three")
    assert not matching.takes_edit("a.txt", "one 2 tree")
    assert matching.takes_edit("a.txt", "one 2 three")


def test_what_others_wrote_meanwhile_is_not_undone_with_leave_for_a_part(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two")
    matching = Matching(str(tmp_path))
    matching.allowed(request(Diff("a.txt", "two", "2")))
    (tmp_path / "a.txt").write_text("1 two")
    assert not matching.takes_edit("a.txt", "one 2")


def test_leave_for_a_part_that_is_there_twice_is_leave_for_neither(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("admin = off\ncolour = off\n")
    matching = Matching(str(tmp_path))
    matching.allowed(request(Diff("a.txt", "off", "on")))
    assert not matching.takes_edit("a.txt", "admin = on\ncolour = off\n")


def test_lines_that_nobody_was_shown_are_not_replaced_by_those_that_were(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a hundred lines")
    for old in (None, ""):
        matching = Matching(str(tmp_path))
        matching.allowed(request(Diff("a.txt", old, "one more")))
        assert not matching.takes_edit("a.txt", "one more")


def test_a_text_that_the_question_did_not_show_is_asked_about_by_itself(tmp_path: Path) -> None:
    matching = Matching(str(tmp_path))
    matching.allowed(request(raw={"content": "all"}, locations=("a.txt",)))
    assert not matching.takes_edit("a.txt", "all")
    for hidden in ("evil\n" * 21, "x" * 2_000):
        matching.allowed(request(Diff("a.txt", None, hidden)))
        assert not matching.takes_edit("a.txt", hidden)


def test_a_text_that_a_title_or_empty_changes_push_out_of_the_question_is_asked_about_by_itself(tmp_path: Path) -> None:
    matching = Matching(str(tmp_path))
    change = Diff("a.txt", None, "x" * 900)
    matching.allowed(request(change, title="t" * 1_000))
    matching.allowed(request(*[Diff("", None, "")] * 3_000, change))
    assert not matching.takes_edit("a.txt", change.new)


@pytest.mark.parametrize("end", ["\v", "\f", "\r", "\x1c", "\x85", "\u2028"])
def test_a_line_that_ends_otherwise_is_shown_as_another_one(end: str) -> None:
    assert changes_of(request(Diff("a.py", "# check\nstop()", f"# check{end}stop()"))) == (
        f"a.py\n- # check\n- stop()\n+ # check{end}stop()"
    )


def test_two_lines_made_one_are_shown() -> None:
    assert changes_of(request(Diff("a.py", "# check\n", "# check"))) == "a.py\n- "


def test_lines_that_only_the_agent_says_were_there_are_not_approved_with_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    matching = Matching(str(tmp_path))
    matching.allowed(request(Diff("a.txt", "evil\none", "evil\ntwo")))
    assert not matching.takes_edit("a.txt", "evil\ntwo")


def test_a_file_that_is_none_or_too_large_or_no_text_is_asked_about_by_itself(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_text("x" * (MOST_READ + 1))
    (tmp_path / "binary").write_bytes(b"x\0")
    matching = Matching(str(tmp_path))
    for name in ("pipe", "large", "binary"):
        matching.allowed(request(Diff(name, None, "y")))
        assert not matching.takes_edit(name, "y")


def test_leave_for_another_kind_is_leave_for_no_file() -> None:
    matching = Matching("/work")
    matching.allowed(request(Diff("a.txt", None, "new"), kind="execute"))
    assert not matching.takes_edit("a.txt", "new")


def test_only_so_many_edits_are_kept(tmp_path: Path) -> None:
    matching = Matching(str(tmp_path))
    for number in range(101):
        matching.allowed(request(Diff(f"{number}.txt", None, "x")))
    assert not matching.takes_edit("0.txt", "x") and matching.takes_edit("100.txt", "x")


def test_an_edit_that_we_wrote_is_ours_once() -> None:
    matching = Matching("/work")
    call = ToolCall(id="c", kind="edit", locations=("/work/a.txt",))
    assert not matching.was_ours(call)
    matching.wrote("/work/a.txt")
    assert not matching.was_ours(ToolCall(id="c", kind="read", locations=("/work/a.txt",)))
    assert matching.was_ours(call) and not matching.was_ours(call)


def test_an_edit_of_a_file_that_we_wrote_and_of_another_one_is_not_ours() -> None:
    matching = Matching("/work")
    matching.wrote("a.txt")
    both = ToolCall(id="c", kind="edit", locations=("a.txt",), content=(Diff("b.txt", None, "x"),))
    assert not matching.was_ours(both)


def test_a_call_stands_in_for_one_that_was_asked_about_and_never_told_of() -> None:
    matching = Matching("/work")
    matching.allowed(request(locations=("/work/a.txt",)))
    other = ToolCall(id="other", title="Writing", kind="edit", locations=("/work/b.txt",))
    assert matching.asked_as(other) == ""
    same = ToolCall(id="told", title="Writing", kind="edit", locations=("/work/a.txt",))
    assert matching.asked_as(same) == "asked" and matching.standing_in == {"told": "asked"}
    assert matching.asked_as(same) == ""


def test_a_call_that_is_told_of_itself_is_stood_in_for_by_none() -> None:
    matching = Matching("/work")
    matching.allowed(request(locations=("/work/a.txt",)))
    matching.heard("asked")
    assert matching.asked_as(ToolCall(id="told", title="Edit it", kind="edit")) == ""
