"""What a page costs to be told of: bytes, and time as a multiple of one walk over all of its elements.

    .venv/bin/python benchmarks/page_state.py [--write]

In a real Chromium, on the pages of tests/web/pages/see. The walk goes over every element once and asks each for its tag
and one attribute: the least that anybody who looks at a whole page must do. Both are measured in turns, in the same
page. Judge by the ratio: the milliseconds are this machine's. Beside that, how both grow with the page: tables with
more and more rows of text, field and button, in the processor's time.
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
from statistics import median
from typing import Any, cast

from playwright.async_api import Browser, CDPSession, async_playwright

ROOT = Path(__file__).parent.parent
WEB = ROOT / "web"
PAGES = ROOT / "tests/web/pages/see"
PAGE = ROOT / "docs/reference/page-state.md"
FIGURES = ROOT / "docs/reference/page-figures.md"
GROWTH = "## A look at a page that grows"
SIZES = (2_500, 5_000, 10_000, 20_000)
ROUNDS = 7
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


ROWS = """(count) => {
  const row = (n) => `<tr><td>Row ${n}</td><td><input></td><td><button>Edit</button></td></tr>`;
  document.body.innerHTML = `<table>${Array.from({ length: count / 6 }, (_, n) => row(n)).join("")}</table>`;
  window.automation = PolluxAutomation.createAutomation(document);
  automation.getPageState();
  return document.querySelectorAll("*").length;
}"""
# A label that comes makes the browser forget whose labels it knew.
LOOK = "() => { automation.getPageState() }"
FORGET = "() => { document.body.append(document.createElement('label')) }"
WALKS = """() => {
  for (let n = 0; n < 20; n++) {
    const walker = document.createTreeWalker(document, NodeFilter.SHOW_ELEMENT);
    let seen = 0;
    for (let at = walker.nextNode(); at; at = walker.nextNode())
      seen += at.tagName.length + (at.getAttribute("class") ?? "").length;
  }
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
    parser.add_argument(
        "--write",
        action="store_true",
        help=f"also write {PAGE.relative_to(ROOT)} and a part of {FIGURES.relative_to(ROOT)}",
    )
    given = parser.parse_args()
    text, grown = asyncio.run(measured(given.reps))
    print(text)
    print(grown)
    if given.write:
        PAGE.write_text(text)
        FIGURES.write_text(FIGURES.read_text().partition(GROWTH)[0].rstrip() + f"\n\n{grown}")


async def measured(reps: int) -> tuple[str, str]:
    with tempfile.TemporaryDirectory(prefix="pollux-bench-") as folder:
        script = built(Path(folder))
        async with async_playwright() as playwright:
            flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
            chromium = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
            found = [await figures(chromium, name, script, reps) for name in NAMES]
            growth = [await grown(chromium, size, script) for size in SIZES]
            version = chromium.version
            await chromium.close()
    return page(found, version, reps), growing(growth)


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


async def grown(chromium: Browser, size: int, script: Path) -> tuple[int, float, float]:
    """The elements of a page of about this size, and what a walk and a look take, in milliseconds."""
    tab = await chromium.new_page()
    await tab.set_content("<!doctype html>")
    await tab.add_script_tag(path=script)
    elements: int = await tab.evaluate(ROWS, size)
    clock = await tab.context.new_cdp_session(tab)
    await asked(clock, "Performance.enable", timeDomain="threadTicks")
    walks: list[float] = []
    looks: list[float] = []
    for _ in range(ROUNDS):
        await tab.evaluate(FORGET)
        start = await spent(clock)
        await tab.evaluate(LOOK)
        between = await spent(clock)
        await tab.evaluate(WALKS)
        looks.append(between - start)
        walks.append((await spent(clock) - between) / 20)
    await tab.close()
    return elements, median(walks) * 1_000, median(looks) * 1_000


async def spent(clock: CDPSession) -> float:
    """The processor's time that the page took until now, in seconds."""
    answer = await asked(clock, "Performance.getMetrics")
    return next(each["value"] for each in answer["metrics"] if each["name"] == "ThreadTime")


async def asked(clock: CDPSession, method: str, **params: str) -> dict[str, Any]:
    answer = await clock.send(method, params)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return cast("dict[str, Any]", answer)


def growing(found: list[tuple[int, float, float]]) -> str:
    when = datetime.datetime.now(datetime.UTC).date().isoformat()
    rows = "\n".join(
        f"| {elements:,} | {walk:.2f} ms | {look:.0f} ms | {look / walk:.0f} × |" for elements, walk, look in found
    )
    return f"""{GROWTH}

A table with more and more rows of text, field and button. What one walk over all elements takes, and one look at the
page; the processor's time, the median of {ROUNDS}. `benchmarks/page_state.py --write`, {when}.

| elements | one walk | one look | look by walk |
| --- | --- | --- | --- |
{rows}

Beyond 15,000 elements a page is told in part, and says so. `pytest tests/web/test_scaling.py` holds seven kinds of
pages to it: four times the elements, at most six times the time.
"""


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
