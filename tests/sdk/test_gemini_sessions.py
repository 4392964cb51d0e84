"""Session files of Gemini CLI: read whole where they are whole, and as far as they are where they are not."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sdk.recorded import HEAD, SESSIONS, gemini, lines, user, written

from pollux.core.errors import NotFound, SessionNotFound, ValidationError
from pollux.sdk.gemini_cli.sessions import LARGEST_FILE, MOST_BAD_LINES, MOST_PROBLEMS, LoadedSession, load_session

MESSAGES = [user("u1", "häh?"), gemini("g1", "[1, {2}]"), user("u2", "}")]
OLD = {**HEAD, "messages": MESSAGES}


def ids(session: LoadedSession) -> list[str]:
    return [record.id for record in session.records]


def test_the_samples_are_here_or_their_absence_is_seen():
    if not SESSIONS:
        pytest.skip("the shared samples are not here")
    assert len(SESSIONS) == 4


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.name)
def test_a_real_file_is_read_without_a_problem(path: Path):
    session = load_session(path)
    assert session.problems == ()
    assert {record.type for record in session.records} == {"user", "gemini"}
    assert session.session_id and session.project_hash and session.start_time <= session.last_updated


def test_the_fields_of_a_message_are_there(tmp_path: Path):
    said = gemini(
        "g1", "Hi", thoughts=[{"subject": "x"}], tokens={"total": 3}, model="gemini-3.8-flash", toolCalls=[{}]
    )
    [record] = load_session(written(tmp_path, HEAD, said)).records
    assert (record.content, record.thoughts, record.tokens) == ("Hi", ({"subject": "x"},), {"total": 3})
    assert (record.model, record.tool_calls, record.timestamp) == ("gemini-3.8-flash", ({},), said["timestamp"])


def test_a_message_told_again_replaces_the_first_and_keeps_its_place(tmp_path: Path):
    path = written(tmp_path, HEAD, gemini("g1", "draft"), user("u1", "next"), gemini("g1", "final"))
    records = load_session(path).records
    assert [(record.id, record.content) for record in records] == [("g1", "final"), ("u1", [{"text": "next"}])]


def test_a_change_is_laid_over_what_is_known_of_the_session(tmp_path: Path):
    path = written(tmp_path, HEAD, user("u1", "hi"), {"$set": {"summary": "Greetings", "lastUpdated": "2027"}})
    session = load_session(path)
    assert (session.summary, session.last_updated, session.kind) == ("Greetings", "2027", "main")
    assert ids(session) == ["u1"]


def test_a_checkpoint_replaces_every_message_and_later_ones_follow_it(tmp_path: Path):
    checkpoint = {"$set": {"messages": [user("x1", "summary"), gemini("x2", "Got it")]}}
    assert ids(load_session(written(tmp_path, HEAD, user("u1", "hi"), checkpoint, user("u2", "on")))) == [
        "x1",
        "x2",
        "u2",
    ]


def test_a_rewind_takes_back_the_message_and_all_that_follow(tmp_path: Path):
    said = [user("u1", "a"), gemini("g1", "b"), user("u2", "c"), gemini("g2", "d")]
    assert ids(load_session(written(tmp_path, HEAD, *said, {"$rewindTo": "u2"}, user("u3", "e")))) == ["u1", "g1", "u3"]


def test_a_rewind_to_an_unknown_message_takes_nothing_back_and_is_reported(tmp_path: Path):
    session = load_session(written(tmp_path, HEAD, user("u1", "a"), {"$rewindTo": "gone"}))
    assert ids(session) == ["u1"]
    assert session.problems == ("line 3 rewinds to a message that is not there; nothing was taken back",)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{not json", "is not whole JSON: expecting property name"),
        (b'{"id": "u9", "type": "user", "content": "\xff"}', "is not UTF-8"),
        (b"null", "is none of a message"),
        (b"[1, 2]", "is none of a message"),
        (b'{"something": "else"}', "is none of a message"),
        (b'{"id": "u9", "content": "x"}', "is a message without id or type"),
        (b'{"id": "u9", "type": "user", "content": 7}', "has content that is neither text nor a list of parts"),
        (b'{"$set": {"messages": 7}}', "has messages that are not a list"),
        (b'{"$set": {"messages": [7]}}', ", message 1, is a message without id or type"),
        (b'{"id": "u9", "type": "user", "content": [1e999]}', "holds a number that is too large"),
        (b'{"id": "u9", "type": "user", "content": [NaN]}', "is not JSON: it holds the number NaN"),
        (b'{"id": "u9", "type": "user", "content": ' + b"[" * 200 + b"]" * 200 + b"}", "levels deep"),
        (b"[" * 200_000, "levels deep"),
    ],
)
def test_a_bad_line_is_passed_over_and_named(tmp_path: Path, line: bytes, reason: str):
    path = tmp_path / "session.jsonl"
    path.write_bytes(lines(HEAD) + line + b"\n\r\n" + lines(user("u2", "after")))
    session = load_session(path)
    assert ids(session) == ["u2"]
    [problem] = session.problems
    assert problem.startswith("line 2") and reason in problem


def test_a_broken_first_line_costs_the_id_and_nothing_else(tmp_path: Path):
    path = tmp_path / "session-2026 11.jsonl"
    path.write_bytes(b'{"sessionId": "22\n' + lines(user("u1", "a"), gemini("g1", "b")))
    session = load_session(path)
    assert (session.session_id, ids(session)) == ("session-2026-11", ["u1", "g1"])
    assert [problem.split(" is")[0] for problem in session.problems] == ["line 1", "the session's id"]


@pytest.mark.parametrize("session_id", ["../../etc/passwd", "a/b", "", ".", "x\0y", "a" * 200, "é"])
def test_an_id_with_other_signs_than_plain_ones_is_not_passed_on(tmp_path: Path, session_id: str):
    session = load_session(written(tmp_path, HEAD | {"sessionId": session_id}, user("u1", "a"), name="copy.jsonl"))
    assert session.session_id == "copy"
    assert "the session's id is missing or holds other signs" in session.problems[0]


def test_half_a_character_pair_becomes_the_sign_for_an_unknown_one(tmp_path: Path):
    path = tmp_path / "session.jsonl"
    path.write_bytes(lines(HEAD) + b'{"id": "u1", "type": "user", "content": "cut \\ud83d|\\ud83d\\ude00"}\n')
    [record] = load_session(path).records
    assert record.content == "cut \ufffd|😀"


def test_numbers_are_read_as_the_program_reads_them_that_wrote_them(tmp_path: Path):
    args = {"a": 2**53, "b": 10**20, "c": 1.5, "d": -3}
    [record] = load_session(written(tmp_path, HEAD, gemini("g1", "", toolCalls=[args]))).records
    assert json.dumps(record.tool_calls[0]) == '{"a": 9007199254740992, "b": 1e+20, "c": 1.5, "d": -3}'


@pytest.mark.parametrize("name", ["old.json", "old.jsonl", "old"])
@pytest.mark.parametrize("indent", [None, 2])
def test_the_old_form_is_known_by_what_is_in_it(tmp_path: Path, name: str, indent: int | None):
    path = tmp_path / name
    path.write_text("\ufeff" + json.dumps(OLD, indent=indent))
    session = load_session(path)
    assert (session.session_id, ids(session), session.problems) == ("2219058d", ["u1", "g1", "u2"], ())


def test_a_session_that_has_just_begun_has_no_messages(tmp_path: Path):
    session = load_session(written(tmp_path, HEAD))
    assert (session.session_id, session.records, session.problems) == ("2219058d", (), ())


@pytest.mark.parametrize("content", [b"", b"\n \n", b"{}", b"[]", b"hello", b"\xff\xfe{\0", b"PK\x03\x04", b'{"a":'])
def test_a_file_without_any_record_is_refused(tmp_path: Path, content: bytes):
    path = tmp_path / "session.jsonl"
    path.write_bytes(content)
    with pytest.raises(ValidationError, match=r"holds no record of a Gemini CLI session.*Expected JSON lines"):
        load_session(path)


@pytest.mark.parametrize("name", ["none.jsonl", "file/none.jsonl"])
def test_a_file_that_is_not_there_is_not_found(tmp_path: Path, name: str):
    (tmp_path / "file").touch()
    with pytest.raises(SessionNotFound, match=r"there is no session file .*none\.jsonl") as caught:
        load_session(tmp_path / name)
    assert caught.value.code == "session_not_found"
    assert isinstance(caught.value, NotFound)


def test_a_directory_a_pipe_and_a_device_are_refused_at_once(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(ValidationError, match="is not a regular file"):
            load_session(path)


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000, "\ud800"])
def test_what_is_no_path_is_refused_in_words_that_can_be_printed(path: str):
    with pytest.raises((ValidationError, SessionNotFound)) as caught:
        load_session(path)
    assert str(caught.value).encode()


def test_a_file_of_100_mb_is_refused_before_it_is_read(tmp_path: Path):
    path = written(tmp_path, HEAD)
    os.truncate(path, 100 << 20)
    with pytest.raises(ValidationError, match=r"is 100 MB large, and at most 64 MB are read\. Copy its first line"):
        load_session(path)
    assert LARGEST_FILE == 64 << 20


def test_a_file_of_nothing_but_bad_lines_does_not_fill_the_memory_with_complaints(tmp_path: Path):
    path = tmp_path / "session.jsonl"
    path.write_bytes(lines(HEAD) + b"x\n" * 5000)
    problems = load_session(path).problems
    assert len(problems) == MOST_PROBLEMS + 1
    assert problems[-1] == "and 4900 more"


def test_a_file_that_is_mostly_something_else_is_not_read_to_its_end(tmp_path: Path):
    path = tmp_path / "session.jsonl"
    path.write_bytes(lines(HEAD, user("u1", "a")) + b"x\n" * MOST_BAD_LINES + lines(user("u2", "b")))
    session = load_session(path)
    assert ids(session) == ["u1"]
    assert session.problems[-1] == "line 10002 is the 10000th that cannot be read; what follows was not read"


def test_a_file_is_only_read(tmp_path: Path):
    path = written(tmp_path, HEAD, user("u1", "a"))
    path.chmod(0o400)
    before = (path.read_bytes(), path.stat().st_mtime_ns, sorted(tmp_path.iterdir()))
    load_session(path)
    assert (path.read_bytes(), path.stat().st_mtime_ns, sorted(tmp_path.iterdir())) == before


def test_a_file_cut_anywhere_gives_every_line_before_the_cut(tmp_path: Path):
    records: list[dict[str, Any]] = [
        HEAD,
        user("u1", "häh? 😀"),
        {"$set": {"summary": "s"}},
        gemini("g1", "b"),
        user("u2", "c"),
    ]
    whole = lines(*records)
    path = tmp_path / "session.jsonl"
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        # The line feed is not part of the record.
        complete = [at for at in range(len(records)) if len(lines(*records[: at + 1])) - 1 <= cut]
        if not complete:
            with pytest.raises(ValidationError, match="holds no record"):
                load_session(path)
            continue
        session = load_session(path)
        assert ids(session) == [records[at]["id"] for at in complete if "id" in records[at]]
        is_between = cut in {len(lines(*records[: at + 1])) - less for at in complete for less in (0, 1)}
        expected = [] if is_between else [f"line {len(complete) + 1}"]
        assert [problem.split(" is not ")[0] for problem in session.problems] == expected


@pytest.mark.parametrize("indent", [None, 2])
def test_an_old_file_cut_anywhere_gives_every_message_before_the_cut(tmp_path: Path, indent: int | None):
    whole = json.dumps(OLD, indent=indent, ensure_ascii=False).encode()
    ends = [len(part) for part in _up_to_each_message(whole)]
    path = tmp_path / "session.json"
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        complete = sum(end <= cut for end in ends)
        if not complete:
            with pytest.raises(ValidationError, match="holds no record"):
                load_session(path)
            continue
        session = load_session(path)
        assert ids(session) == ["u1", "g1", "u2"][:complete]
        assert len(session.problems) == 1
        assert "the document breaks off or is broken in line" in session.problems[0]


def _up_to_each_message(whole: bytes) -> list[bytes]:
    """The document up to the end of each of its messages, found by their text."""
    found: list[bytes] = []
    text = whole.decode()
    for said in MESSAGES:
        at = text.index(f'"{said["id"]}"')
        start = text.rindex("{", 0, at)
        _, end = json.JSONDecoder().raw_decode(text, start)
        found.append(text[:end].encode())
    return found


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes):
    _load_or_refuse(tmp_path_factory, content)


JSONS: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def shaped(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(fields)


RECORDS = st.one_of(
    JSONS,
    shaped(**{"$set": JSONS | shaped(messages=st.lists(JSONS))}),
    shaped(**{"$rewindTo": JSONS | st.sampled_from(["a", "b"])}),
    shaped(sessionId=JSONS, messages=JSONS, summary=JSONS),
    shaped(id=st.sampled_from(["a", "b"]), type=JSONS | st.just("user"), content=JSONS),
)


@given(st.lists(RECORDS, max_size=6), st.binary(max_size=3), st.integers(0, 500))
def test_any_records_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, records: list[Any], noise: bytes, at: int
):
    content = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    _load_or_refuse(tmp_path_factory, content[:at] + noise + content[at:])


def _load_or_refuse(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_bytes(content)
    try:
        session = load_session(path)
    except ValidationError:
        return
    assert session.session_id
    assert json.dumps([record.content for record in session.records], ensure_ascii=False).encode()
