"""What programs write to set variables."""

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollux.runbooks.blocks.output_vars import PREFIX, output_file, parse, sweep


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("a=1\n\nb=\nc=x=y\n", {"a": "1", "b": "", "c": "x=y"}),
        ("a=1\na=2", {"a": "2"}),
        ("a<<EOF\none\n  two\nEOF\nb=1", {"a": "one\n  two", "b": "1"}),
        ("a << END\nx=1\nEND\n", {"a": "x=1"}),
        ("a<<EOF\nnever closed", {"a": "never closed"}),
        ("a<<x=y\nz\nx=y", {"a": "z"}),
        ("a=cat <<EOF", {"a": "cat <<EOF"}),
        ("no variable\n=x\nwith space=x\n<<EOF\n", {}),
        ("a<<\nb=1", {"b": "1"}),
    ],
)
def test_lines_become_variables(text: str, found: dict[str, str]):
    assert parse(text) == found


@given(st.text(alphabet="ab=<\n E", max_size=40))
def test_whatever_is_written_is_read(text: str):
    assert all(name.isidentifier() for name in parse(text))


def test_folders_of_the_dead_are_removed_and_those_of_the_living_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in (f"{PREFIX}left", f"{PREFIX}fresh", "others"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "vars").touch()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / "elsewhere")
    with output_file() as file:
        long_ago = time.time() - 3_600
        for folder in tmp_path.iterdir():
            if not folder.name.endswith("fresh"):
                os.utime(folder, (long_ago, long_ago))
        sweep(str(tmp_path))
        assert file.exists()
        left = {path.name for path in tmp_path.iterdir()} - {file.parent.name}
        assert left == {f"{PREFIX}fresh", f"{PREFIX}link", "others", "elsewhere"}
    assert not file.parent.exists()
