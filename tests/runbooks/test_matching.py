"""What an agent was allowed under one name and does under another is one deed, and no more than that one."""

from pollux.acp.client import PermissionRequest
from pollux.acp.updates import Diff, ToolCall
from pollux.core.messages import JSON
from pollux.runbooks.agents.matching import Matching


def request(*content: Diff, raw: JSON = None, locations: tuple[str, ...] = (), kind: str = "edit") -> PermissionRequest:
    return PermissionRequest(
        tool_call_id="asked",
        title="Edit it",
        kind=kind,  # type: ignore[arg-type]
        raw_input=raw,
        locations=locations,
        content=content,
        options=("allow_once",),
    )


def test_leave_for_a_text_is_leave_for_that_file_with_that_text_and_once() -> None:
    matching = Matching("/work")
    matching.allowed(request(Diff("/work/a.txt", None, "new")))
    assert not matching.takes_edit("/work/a.txt", "newer") and not matching.takes_edit("/work/b.txt", "new")
    assert matching.takes_edit("a.txt", "new") and not matching.takes_edit("a.txt", "new")


def test_leave_for_a_part_is_leave_for_the_file_that_was_read_with_that_part_changed() -> None:
    matching = Matching("/work")
    matching.allowed(request(Diff("a.txt", "two", "2")))
    assert not matching.takes_edit("a.txt", "one 2 three"), "nobody knows what it was"
    matching.read("/work/a.txt", "one two three")
    assert not matching.takes_edit("a.txt", "one 2 tree")
    assert matching.takes_edit("a.txt", "one 2 three")


def test_a_text_that_the_question_did_not_show_is_asked_about_by_itself() -> None:
    matching = Matching("/work")
    matching.allowed(request(raw={"content": "all"}, locations=("/work/a.txt",)))
    assert not matching.takes_edit("/work/a.txt", "all")
    for hidden in ("evil\n" * 21, "x" * 2_000):
        matching.allowed(request(Diff("a.txt", None, hidden)))
        assert not matching.takes_edit("a.txt", hidden)


def test_lines_that_only_the_agent_says_were_there_are_not_approved_with_the_others() -> None:
    matching = Matching("/work")
    matching.read("a.txt", "one")
    matching.allowed(request(Diff("a.txt", "evil\none", "evil\ntwo")))
    assert not matching.takes_edit("a.txt", "evil\ntwo")


def test_leave_for_another_kind_is_leave_for_no_file() -> None:
    matching = Matching("/work")
    matching.allowed(request(Diff("a.txt", None, "new"), kind="execute"))
    assert not matching.takes_edit("a.txt", "new")


def test_only_so_many_texts_are_kept() -> None:
    matching = Matching("/work")
    matching.allowed(request(Diff("0.txt", "x", "y")))
    for number in range(17):
        matching.read(f"{number}.txt", "x")
    assert not matching.takes_edit("0.txt", "not y")
    matching.read("big.txt", "x" * (1 << 21))
    assert not matching.takes_edit("big.txt", "y")


def test_an_edit_that_we_wrote_is_ours_once() -> None:
    matching = Matching("/work")
    call = ToolCall(id="c", kind="edit", locations=("/work/a.txt",))
    assert not matching.was_ours(call)
    matching.wrote("/work/a.txt")
    assert not matching.was_ours(ToolCall(id="c", kind="read", locations=("/work/a.txt",)))
    assert matching.was_ours(call) and not matching.was_ours(call)


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
