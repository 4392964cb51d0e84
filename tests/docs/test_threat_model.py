"""The threat model names a test for every answer. Each of them is there."""

import re
from pathlib import Path

TESTS = Path(__file__).parent.parent
PAGE = TESTS.parent / "docs/concepts/threat-model.md"


def test_every_test_that_the_threat_model_names_is_there():
    named = re.findall(r"`([a-z_]+/[a-z_/]*(?:\.py)?|test_[a-z_]+\.py)`", PAGE.read_text("utf-8"))
    assert len(named) >= 50
    assert [
        name for name in named if name not in ("audit/verify", "tests/attack/") and not (TESTS / name).exists()
    ] == []
