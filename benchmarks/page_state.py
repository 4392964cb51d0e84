"""What a page costs to be told of: bytes, and time as a multiple of one walk over all of its elements.

    .venv/bin/python benchmarks/page_state.py [--write]

In a real Chromium, on the pages of tests/web/pages/see. The walk goes over every element once and asks each for its tag
and one attribute: the least that anybody who looks at a whole page must do. Both are measured in turns, in the same
page. Judge by the ratio: the milliseconds are this machine's.
"""

import argparse
import asyncio
import datetime
import json
import os
import platform
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, async_playwright

ROOT = Path(__file__).parent.parent
WEB = ROOT / "web"
PAGES = ROOT / "tests/web/pages/see"
PAGE = ROOT / "docs/reference/page-state.md"
NAMES = ("large", "catalogue", "forms", "aria", "tables")
LOADS = 4
MEASURE = """async (reps) => {
  const automation = PolluxAutomation.createAutomation(document);
  const timed = (act) => { const before = performance.now(); act(); return performance.now() - before; };
  const walk = () => {
    const walker = document.createTreeWalker(document, NodeFilter.SHOW_ELEMENT);
    let seen = 0;
    for (let at = walker.nextNode(); at; at = walker.nextNode())
      seen += at.tagName.length + (at.getAttribute("class") ?? "").length;
    return seen;
  };
  // The clock of a page is coarse: one walk is too short for it.
  const manyWalks = () => { for (let n = 0; n < 100; n++) walk(); };
  const told = { first: timed(() => automation.getPageState()), states: [], walks: [] };
  for (let n = 0; n < reps; n++) {
    told.walks.push(timed(manyWalks) / 100);
    told.states.push(timed(() => automation.getPageState()));
    await new Promise((done) => setTimeout(done));
  }
  told.elements = document.querySelectorAll("*").length;
  told.state = automation.getPageState();
  return told;
}"""


@dataclass(frozen=True)
class Figures:
    """One page: how large it is, what is told of it, and how long that takes in milliseconds."""

    name: str
    elements: int
    size: int
    lines: int
    first: float
    state: float
    walk: float

    @property
    def row(self) -> str:
        told = f"{self.elements:,} | {self.lines} | {self.size:,} | {self.size // 4:,}"
        took = f"{self.walk:.3f} ms | {self.state:.1f} ms | {self.state / self.walk:.0f} × | {self.first:.0f} ms"
        return f"| {self.name} | {told} | {took} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reps", type=int, default=40)
    parser.add_argument("--write", action="store_true", help=f"also write {PAGE.relative_to(ROOT)}")
    given = parser.parse_args()
    text = asyncio.run(measured(given.reps))
    print(text)
    if given.write:
        PAGE.write_text(text)


async def measured(reps: int) -> str:
    with tempfile.TemporaryDirectory(prefix="pollux-bench-") as folder:
        script = built(Path(folder))
        async with async_playwright() as playwright:
            flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
            chromium = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
            found = [await figures(chromium, name, script, reps) for name in NAMES]
            version = chromium.version
            await chromium.close()
    return page(found, version, reps)


def built(folder: Path) -> Path:
    """The automation alone, from its sources."""
    out = folder / "automation.js"
    options = ["--bundle", "--minify", "--format=iife", "--target=es2022", "--log-level=warning", f"--outfile={out}"]
    entry = WEB / "packages/automation/src/global.ts"
    subprocess.run([WEB / "node_modules/.bin/esbuild", entry, *options], cwd=WEB, check=True, timeout=60)
    return out


async def figures(chromium: Browser, name: str, script: Path, reps: int) -> Figures:
    """Whatever else runs on the machine makes everything slower and nothing faster: the quickest counts."""
    rounds = [await loaded(chromium, name, script, reps // LOADS) for _ in range(LOADS)]
    told = rounds[0]["state"]
    return Figures(
        name,
        rounds[0]["elements"],
        len(json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()),
        len(told["outline"]),
        min(each["first"] for each in rounds),
        min(min(each["states"]) for each in rounds),
        min(min(each["walks"]) for each in rounds),
    )


async def loaded(chromium: Browser, name: str, script: Path, reps: int) -> dict[str, Any]:
    tab = await chromium.new_page()
    await tab.set_content((PAGES / f"{name}.html").read_text())
    await tab.add_script_tag(path=script)
    told: dict[str, Any] = await tab.evaluate(MEASURE, reps)
    await tab.close()
    return told


def page(found: list[Figures], version: str, reps: int) -> str:
    when = datetime.datetime.now(datetime.UTC).date().isoformat()
    machine = f"{os.cpu_count()} cores, {platform.system()}, Chromium {version.partition('.')[0]}"
    rows = "\n".join(each.row for each in found)
    return f"""# Page state

What the browser's side tells the server of a page, and what it costs. Made by
`.venv/bin/python benchmarks/page_state.py --write` on the pages of `tests/web/pages/see`.
{when}, {machine}. The quickest of {reps}; tokens are bytes by four.
A state has at most 12,000 bytes.

| page | elements | lines | bytes | tokens | one walk over all elements | state | state by walk | the first one |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
{rows}

The walk asks every element for its tag and one attribute, and does nothing with the answers. A state asks which
elements are rendered, what they are, what they are called and where they stand, for all of the page, and then tells the
most important of it. The first one of a page is slower: the browser has yet to compile the script and to lay out the
page.
"""


if __name__ == "__main__":
    main()
