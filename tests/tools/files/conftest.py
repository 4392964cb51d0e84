"""Where the tests of files stand."""

import os
from collections.abc import Generator

import pytest


@pytest.fixture(scope="module", autouse=True)
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """An empty folder: whatever forgets the folder it was given writes there, and not beside the sources."""
    before = os.getcwd()
    os.chdir(tmp_path_factory.mktemp("elsewhere"))
    yield
    os.chdir(before)
