"""What the tests of `pollux run` share: an emulator, a program that is warm, and a machine of one's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.fakes import emulated
from tests.cli.programs import Place, Warm, keys, warm_program

from pollux.emulator import Emulator


@pytest.fixture(scope="session")
def running() -> Iterator[Emulator]:
    with emulated() as emulator:
        yield emulator


@pytest.fixture
def emulator(running: Emulator) -> Emulator:
    """An emulator that has seen nothing yet."""
    running.clear()
    return running


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    with warm_program() as program:
        yield program


@pytest.fixture
def here(tmp_path: Path, emulator: Emulator) -> Place:
    """A machine whose keys and addresses are the emulator's."""
    return Place(tmp_path, **keys(emulator.url))
