"""The documentation as a site: every page is reached, every link leads somewhere, nothing comes from elsewhere."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from scripts.build_site import DOCS, build, sections

LOADED = re.compile(r"""<(?:script|link|img)\b[^>]*?\s(?:src|href)=["']?([^"'\s>]+)""")
LINKED = re.compile(r"""<a\b[^>]*?\shref=["']?([^"'\s>]+)""")


def test_every_page_has_a_place_in_the_way_around():
    placed = {path for _, pages in sections() for _, path in pages}
    there = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} - {"README.md"}
    assert placed == there, "docs/README.md lists every page"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "site"
    build(folder)
    return folder


@pytest.mark.slow
def test_the_site_is_whole_and_asks_nobody_else_for_anything(site: Path):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 60
    assert [(str(page.relative_to(site)), link) for page in pages for link in broken(page)] == []
    assert {link for page in pages for link in found(LOADED, page) if urlsplit(link).netloc} == set()


def broken(page: Path) -> Iterator[str]:
    """The links of a page to files that are not there. Whoever is lost is led by paths from the top."""
    for link in found(LINKED, page) if page.name != "404.html" else ():
        address = urlsplit(link)
        if not address.scheme and address.path and not (page.parent / unquote(address.path)).exists():
            yield link


def found(pattern: re.Pattern[str], page: Path) -> Iterator[str]:
    for match in pattern.finditer(page.read_text()):
        yield unescape(match[1])
