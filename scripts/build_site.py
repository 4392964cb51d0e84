"""Build docs/ as a site: `python scripts/build_site.py [FOLDER]`, build/site unless said otherwise.

The pages are those that the repository shows. The examples that they link to come along, and the way around is the
order of docs/README.md, so that there is no second list to keep.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

REPOSITORY: Final = Path(__file__).parent.parent
DOCS: Final = REPOSITORY / "docs"
LINK: Final = re.compile(r"\[([^\]]+)\]\(([a-z-]+/[^)]+\.md)\)")
SECTION: Final = re.compile(r"^\*\*(\w+)\*\* ", re.MULTILINE)

CONFIG: Final = """\
[project]
site_name = "Pollux"
site_description = "An agent runtime that gates every side effect and survives being killed"
docs_dir = "pages"
site_dir = "site"
# Links work from a folder on disk too.
use_directory_urls = false
copyright = "Apache License 2.0"
nav = [
{nav}
]

[project.theme]
# Nothing is loaded from elsewhere.
font = false
features = ["navigation.sections", "navigation.top", "navigation.footer", "content.code.copy", "search.highlight"]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
"""


def sections() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The sections of docs/README.md, each with its pages by title."""
    pieces = SECTION.split((DOCS / "README.md").read_text())
    tutorial = LINK.findall(pieces[0])
    for title, text in zip(pieces[1::2], pieces[2::2], strict=True):
        pages = [(_plain(said), path) for said, path in LINK.findall(text)]
        yield title, [*((_plain(said), path) for said, path in tutorial if title == "Guides"), *pages]


def config() -> str:
    """What the builder is told."""
    entries = [f"  {{{_quoted('Pollux')} = {_quoted('README.md')}}},"]
    for title, pages in sections():
        inner = ", ".join(f"{{{_quoted(said)} = {_quoted(path)}}}" for said, path in pages)
        entries.append(f"  {{{_quoted(title)} = [{inner}]}},")
    return CONFIG.format(nav="\n".join(entries))


def build(site: Path) -> None:
    """Make the site. Raises CalledProcessError where a page links to what is not there."""
    with tempfile.TemporaryDirectory(prefix="pollux-site-") as name:
        work = Path(name)
        pages = work / "pages"
        shutil.copytree(DOCS, pages)
        shutil.copytree(REPOSITORY / "examples", pages / "examples", ignore=shutil.ignore_patterns("__pycache__"))
        for page in pages.rglob("*.md"):
            page.write_text(_moved(page.read_text()))
        (work / "zensical.toml").write_text(config())
        command = [Path(sys.executable).with_name("zensical"), "build", "--strict"]
        subprocess.run(command, cwd=work, check=True, timeout=300)
        shutil.rmtree(site, ignore_errors=True)
        shutil.copytree(work / "site", site)


def _moved(text: str) -> str:
    # Beside docs in the repository, within it on the site; and there nothing is called docs.
    return re.sub(r"\]\(((?:\.\./)*)\.\./examples", r"](\1examples", text).replace("](../docs/", "](../")


def _plain(said: str) -> str:
    text = re.sub(r"^\d{4}-\d\d-\d\d: ", "", said.strip("*")).replace("`", "")
    return text[:1].upper() + text[1:]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


if __name__ == "__main__":
    place = Path(sys.argv[1] if len(sys.argv) > 1 else REPOSITORY / "build/site").resolve()
    build(place)
    print(place / "index.html")
