"""Pollux beside other agent frameworks, in one run, against one model server on loopback.

    .venv/bin/python benchmarks/peers/run.py --setup           # once: an environment for each, in build/peers
    .venv/bin/python benchmarks/peers/run.py [--write]         # the stories, the costs, the cold starts

The stories count mails and do not mind a busy machine; the rest is CPU, scaled by a loop of pure Python run around it.
Repetitions are interleaved, and every other one goes round backwards. Figures are kept in build/peers/figures.json.
"""

import argparse
import json
import sys
from collections.abc import Callable
from tempfile import TemporaryDirectory
from typing import Any

from frameworks import FRAMEWORKS, PLACE, ROOT, VARIANTS, Framework, NotRun, model, set_up
from story import crash, twins

import page

PAGE = ROOT / "docs" / "reference" / "peers.md"
KEPT = PLACE / "figures.json"
ROUNDS = [(1, 20), (50, 2)]
PARTS = ("stories", "costs")

Figures = dict[str, dict[str, Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--setup", action="store_true", help="install what is pinned in requirements/, then stop")
    parser.add_argument("--only", default="", help="some of them, by key: pollux,adk")
    parser.add_argument(
        "--parts",
        default=",".join(PARTS),
        help="stories, costs, both, or '' for the tables alone; what is not measured is kept",
    )
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.name}")
    options = parser.parse_args()
    if options.setup:
        set_up()
        return
    only = options.only.split(",") if options.only else [each.key for each in FRAMEWORKS]
    figures: Figures = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    with model() as base:
        for part in filter(None, options.parts.split(",")):
            MEASURES[part](figures, [each for each in (*FRAMEWORKS, *VARIANTS) if each.key in only], base, options.reps)
            PLACE.mkdir(parents=True, exist_ok=True)
            KEPT.write_text(json.dumps(figures, indent=1))
    print(page.tables(figures))
    if options.write:
        PAGE.write_text(page.whole(figures), encoding="utf-8")


def stories(figures: Figures, frameworks: list[Framework], base: str, reps: int) -> None:
    def tell(framework: Framework) -> dict[str, Any]:
        apart = twins(framework, base, apart=True)
        return {"crash": crash(framework, base), "twins": twins(framework, base), "apart": apart}

    _interleaved(figures, frameworks, reps, tell)


def costs(figures: Figures, frameworks: list[Framework], base: str, reps: int) -> None:
    def weigh(framework: Framework) -> dict[str, Any]:
        with TemporaryDirectory() as folder:
            memory = framework.do(base=base, verb="cost", rounds=ROUNDS)
            stored = framework.do(base=base, verb="cost", rounds=ROUNDS, folder=folder)
        cold = framework.do(base=base, verb="cold")
        return {"memory": memory, "stored": stored, "cold": {**cold, "first_ms": (cold["first"] - cold["start"]) * 1e3}}

    _interleaved(figures, [each for each in frameworks if not each.variant], reps, weigh)


MEASURES = {"stories": stories, "costs": costs}


def _interleaved(
    figures: Figures, frameworks: list[Framework], reps: int, measure: Callable[[Framework], dict[str, Any]]
) -> None:
    """Every repetition of every framework, a list of values under each name. Who fails is not tried again."""
    found: dict[str, dict[str, Any]] = {each.id: {"name": each.name} for each in frameworks}
    for rep in range(reps):
        for framework in frameworks if rep % 2 == 0 else reversed(frameworks):
            mine = found[framework.id]
            if "not_run" in mine:
                continue
            try:
                mine["version"] = framework.version()
                for name, value in measure(framework).items():
                    mine.setdefault(name, []).append(value)
            except NotRun as reason:
                mine["not_run"] = str(reason)
                print(f"{framework.name}: not run: {reason}", file=sys.stderr)
        print(f"repetition {rep + 1} of {reps}", file=sys.stderr)
    for key, values in found.items():
        before = {name: value for name, value in figures.get(key, {}).items() if name != "not_run"}
        figures[key] = {**before, **values}


if __name__ == "__main__":
    main()
