"""Names of ours that the pages mention are there: `pollux.module.Name` resolves, links between pages lead somewhere."""

import pkgutil
import re
from pathlib import Path
from typing import Final

import pytest
from tests.docs.test_snippets import PAGES, REPOSITORY, by_name

MENTIONED: Final = sorted(
    {
        (by_name(page), name)
        for page in PAGES
        for name in re.findall(r"`(pollux(?:\.\w+)+)(?<!\.toml)`", page.read_text())
    }
)
OTHERS: Final = ("docs/README.md", "docs/reference/sdk.md", "examples/README.md", "CHANGELOG.md")


@pytest.mark.parametrize(("page", "name"), MENTIONED)
def test_a_name_on_the_page_is_there(page: str, name: str):
    assert pkgutil.resolve_name(name), page


@pytest.mark.parametrize("page", [*PAGES, *(REPOSITORY / name for name in OTHERS)], ids=by_name)
def test_links_to_other_pages_lead_somewhere(page: Path):
    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text())]
    local = [target for target in targets if target and "://" not in target]
    missing = [target for target in local if not (page.parent / target).exists()]
    assert missing == []
