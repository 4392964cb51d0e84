"""Where Gemini CLI's sessions are found: by the project's short name, its marker, or the hash of its path."""

import hashlib
import json
import os
from pathlib import Path

import pytest
from tests.sdk.recorded import HEAD, written

from pollux.sdk.gemini_cli.files import gemini_session_files

OLD, NEW = "session-2026-11-14T05-56-aaaaaaaa.jsonl", "session-2026-11-15T05-56-bbbbbbbb.jsonl"


def kept(home: Path, place: str, *names: str) -> list[Path]:
    """Session files in a place of Gemini CLI's, each newer than the one before."""
    chats = home / ".gemini/tmp" / place / "chats"
    chats.mkdir(parents=True, exist_ok=True)
    paths = [written(chats, HEAD, name=name) for name in names]
    for at, path in enumerate(paths):
        os.utime(path, (at, at))
    return paths


def name_projects(home: Path, names: dict[str, str]) -> None:
    (home / ".gemini").mkdir(exist_ok=True)
    (home / ".gemini/projects.json").write_text(json.dumps({"projects": names}))


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def test_the_sessions_of_the_project_come_newest_first(tmp_path: Path, cwd: Path):
    name_projects(tmp_path, {str(cwd): "work", "/elsewhere": "other"})
    old, new = kept(tmp_path, "work", OLD, NEW)
    kept(tmp_path, "other", NEW)
    assert gemini_session_files(cwd, home=tmp_path) == [new, old]


def test_every_project_is_looked_through_when_asked_for(tmp_path: Path, cwd: Path):
    places = kept(tmp_path, "work", OLD) + kept(tmp_path, "other", NEW)
    assert sorted(gemini_session_files(cwd, home=tmp_path, every=True)) == sorted(places)


def test_old_releases_called_the_place_by_the_hash_of_the_path(tmp_path: Path, cwd: Path):
    paths = kept(tmp_path, hashlib.sha256(str(cwd).encode()).hexdigest(), "session-2025-11-14T05-56-aaaaaaaa.json")
    assert gemini_session_files(cwd, home=tmp_path) == paths


def test_a_project_reached_through_a_link_is_the_same_project(tmp_path: Path, cwd: Path):
    name_projects(tmp_path, {str(cwd): "work"})
    (tmp_path / "link").symlink_to(cwd)
    paths = kept(tmp_path, "work", OLD)
    assert gemini_session_files(tmp_path / "link", home=tmp_path) == paths


def test_the_marker_of_a_place_says_whose_it_is_whatever_the_list_says(tmp_path: Path, cwd: Path):
    name_projects(tmp_path, {str(cwd): "work"})
    kept(tmp_path, "work", OLD)
    mine = kept(tmp_path, "work-1", NEW)
    (tmp_path / ".gemini/tmp/work/.project_root").write_text("/elsewhere\n")
    (tmp_path / ".gemini/tmp/work-1/.project_root").write_text(f"{cwd}\n")
    assert gemini_session_files(cwd, home=tmp_path) == mine


def test_an_old_file_that_was_gone_on_with_is_listed_as_its_successor(tmp_path: Path, cwd: Path):
    name_projects(tmp_path, {str(cwd): "work"})
    successor, _ = kept(tmp_path, "work", OLD, OLD.removesuffix("l"))
    assert gemini_session_files(cwd, home=tmp_path) == [successor]


def test_other_files_and_folders_are_passed_over(tmp_path: Path, cwd: Path):
    name_projects(tmp_path, {str(cwd): "work"})
    [session, *_] = kept(tmp_path, "work", OLD, "session-x.txt", "notes.jsonl")
    (session.parent / "session-folder.jsonl").mkdir()
    assert gemini_session_files(cwd, home=tmp_path) == [session]


@pytest.mark.parametrize("projects", ["{broken", "[]", '{"projects": 7}', '{"projects": {"x": 7}}', "\udcff"])
def test_a_list_of_projects_that_cannot_be_read_is_no_error(tmp_path: Path, cwd: Path, projects: str):
    kept(tmp_path, "work", OLD)
    (tmp_path / ".gemini/projects.json").write_bytes(projects.encode(errors="surrogateescape"))
    assert gemini_session_files(cwd, home=tmp_path) == []
    assert len(gemini_session_files(cwd, home=tmp_path, every=True)) == 1


def test_a_short_name_leads_nowhere_else(tmp_path: Path, cwd: Path):
    name_projects(tmp_path, {str(cwd): "../../outside"})
    (tmp_path / "outside/chats").mkdir(parents=True)
    written(tmp_path / "outside/chats", HEAD, name=OLD)
    kept(tmp_path, "work")
    assert gemini_session_files(cwd, home=tmp_path) == []


def test_nobody_has_used_it_here(tmp_path: Path, cwd: Path):
    assert gemini_session_files(cwd, home=tmp_path, every=True) == []


def test_the_environment_says_where_to_look(tmp_path: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch):
    paths = kept(tmp_path, "work", OLD)
    monkeypatch.setenv("HOME", str(cwd))
    monkeypatch.setenv("GEMINI_CLI_HOME", str(tmp_path))
    assert gemini_session_files(cwd, every=True) == paths
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("GEMINI_CLI_HOME")
    assert gemini_session_files(cwd, every=True) == paths
