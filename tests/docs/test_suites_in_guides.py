"""The conformance suites run as the guides bind them: whoever copies those lines has a suite, not an empty class."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.test_snippets import REPOSITORY, blocks_of
from tests.waiting import HANG_SECONDS


@pytest.mark.slow
@pytest.mark.parametrize(("page", "some"), [("write-a-store", "erase"), ("write-a-provider", "parallel_calls")])
def test_the_suite_that_the_guide_shows_finds_its_tests_and_they_pass(page: str, some: str, tmp_path: Path):
    text = (REPOSITORY / f"docs/guides/{page}.md").read_text()
    [suite] = [block.body for block in blocks_of(text) if "class TestMine" in block.body]
    (tmp_path / "test_mine.py").write_text(suite)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto", "-k", some]
    ran = subprocess.run(
        [*command, "test_mine.py"], cwd=tmp_path, capture_output=True, text=True, timeout=4 * HANG_SECONDS
    )
    assert ran.returncode == 0, ran.stdout
