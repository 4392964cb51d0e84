"""`make bench-http`: hundreds of streams on two cores, slow and vanished readers, and a neighbour who must not notice.

Every server, the load generator and the model are processes of their own, held to two cores together. The floors are
Starlette and uvicorn without a journal, checks or decisions, measured in the same run. Judge by the ratios: the
milliseconds are this machine's.
"""

import argparse
import datetime
import json
import os
import platform
import sqlite3
import statistics
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import http_places as places
from http_places import MIB, OTHER, TOKENS, Clients, Place, until

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "http-load.md"
STREAMS, DELTAS, GAP = 500, 100, 100
IDEAL = DELTAS * GAP / 1000
SPREAD = 10.0
STALLED, FLOOD, PIECE = 50, 20 * MIB, 32_768
RESTLESS = 100_000
STAY = 600.0
"""How long a stalled reader would stay, in seconds; it is ended before."""

Figures = dict[str, list[float]]
Row = tuple[str, str, str, bool | None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--only", choices=("load", "stalled", "vanished", "neighbour"), action="append")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.name}")
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    parts = {"load": load, "stalled": stalled, "vanished": vanished, "neighbour": neighbour}
    tables: list[str] = []
    for name, measure in parts.items():
        if not options.only or name in options.only:
            tables.append(measure(options.reps))
            print(tables[-1], flush=True)
    if options.write:
        PAGE.write_text(page(tables, options.reps), encoding="utf-8")


# Many streams at once.


def load(reps: int) -> str:
    """First line, total, memory and processor, beside the floors."""
    text: list[str] = []
    for spread, title in ((0.0, "all at once"), (SPREAD, f"one after the other within {SPREAD:g} s")):
        found: dict[str, Figures] = {"bare": {}, "relay": {}, "ours": {}}
        with places.model() as model:
            for rep in range(reps):
                for name in list(found) if rep % 2 == 0 else list(reversed(found)):
                    with served(name, model.url) as place:
                        for key, value in one_load(place, spread).items():
                            found[name].setdefault(key, []).append(value)
                told(f"load, {title}: repetition {rep + 1} of {reps}")
        text.append(f"### {STREAMS} streams of {DELTAS} deltas, {1000 // GAP} a second, {title}\n")
        text.append(load_table(found, is_at_once=not spread))
    return "\n".join(text)


def served(name: str, base: str) -> Any:
    match name:
        case "bare":
            return places.bare()
        case "relay":
            return places.relay(base)
        case _:
            return places.pollux(base)


def one_load(place: Place, spread: float) -> dict[str, float]:
    warm(place)
    place.forget_peak()
    rss, cpu = place.rss, place.cpu
    got = Clients(place, f"paced-{DELTAS}-{GAP}", streams=STREAMS, deltas=DELTAS, spread=spread).figures()
    for problem in got["errors"][:3]:
        told(f"{place.name}: {problem}")
    return {
        "first_p50": got["first"]["p50"] * 1e3,
        "first_p99": got["first"]["p99"] * 1e3,
        # From the first request to the last line of all; or of the slowest stream, where they do not begin together.
        "total": got["whole"] if not spread else got["total"]["max"],
        "delay_p99": got["delay"]["p99"] * 1e3,
        "grown": place.peak - rss,
        "cpu": (place.cpu - cpu) / (STREAMS * DELTAS) * 1e6,
        "errors": len(got["errors"]),
    }


def load_table(found: dict[str, Figures], *, is_at_once: bool) -> str:
    total = "first request to last line" if is_at_once else "slowest stream"
    rows = [
        ("first line, median", "first_p50", "ms", None),
        ("first line, p99", "first_p99", "ms", lambda o: (o / middle(found["bare"]["first_p99"]), 2.0, "× bare")),
        (total, "total", "s", lambda o: (o / IDEAL, 1.2, "× ideal")),
        ("a delta's way from the model, p99", "delay_p99", "ms", None),
        ("memory grown by", "grown", "MiB", lambda o: (o, 100.0, "MiB")),
        ("CPU per delta, everything counted", "cpu", "µs", None),
        ("errors", "errors", "", lambda o: (o, 0.0, "")),
    ]
    lines = ["| measure | bare | relay | ours | found | budget | holds |", "| --- " * 7 + "|"]
    for label, key, unit, judge in rows:
        cells = [shown(found[name][key], unit) for name in ("bare", "relay", "ours")]
        # Errors count wherever they were; everything else by its median.
        ours = max(found["ours"][key]) if key == "errors" else middle(found["ours"][key])
        lines.append("| " + " | ".join([label, *cells, *judged(judge(ours) if judge else None)]) + " |")
    return "\n".join(lines) + "\n"


# Readers who do not read.


def stalled(reps: int) -> str:
    """What fifty stalled readers cost beyond the same runs with nobody there; and what readers cost who do read."""
    rows: list[Row] = []
    for is_shared in (True, False):
        most: Figures = {"absent": [], "stall": [], "read": []}
        held: Figures = {"absent": [], "stall": [], "read": []}
        there: list[float] = []
        for rep in range(reps):
            for manner in list(most) if rep % 2 == 0 else list(reversed(most)):
                at_most, after, still = one_stall(manner, is_shared=is_shared)
                most[manner].append(at_most)
                held[manner].append(after)
                there += [still] if manner == "stall" else []
            told(f"stalled, {'one run' if is_shared else 'a run each'}: repetition {rep + 1} of {reps}")
        what = f"{STALLED} at one run of 20 MiB" if is_shared else f"{STALLED} at a run of 20 MiB each"
        for name, figures in (("at most", most), ("when the runs have ended", held)):
            more = middle(figures["stall"]) - middle(figures["absent"])
            cells = " | ".join(shown(figures[manner], "MiB") for manner in ("absent", "read", "stall"))
            rows.append((f"{what}, {name}", f"{cells} | {more:+.0f} MiB", "≤ +64 MiB", more <= 64))
        # Where the runs take longer than a stalled reader is waited for, the figures are of fewer than they say.
        rows.append(
            (f"{what}: stalled readers still there", f"| | {shown(there, '')} |", f"{STALLED}", min(there) == STALLED)
        )
    head = "| memory grown by | nobody there | reading | stalled | stalled over nobody | budget | holds |"
    return table(f"### Readers who stall after the first line\n\n{head}\n{'| --- ' * 7}|", rows)


def one_stall(manner: str, *, is_shared: bool) -> tuple[float, float, float]:
    """MiB grown at most, MiB grown when every run has ended, and how many readers are there then."""
    with places.model() as model, places.pollux(model.url) as place:
        warm(place)
        place.forget_peak()
        before, done = place.rss, completed(place)
        prompt, runs = f"flood-{FLOOD // PIECE}-{PIECE}", 1 if is_shared else STALLED
        clients = None
        if is_shared:
            path = f"/api/agent/runs/{begun(place, prompt)}/events"
            if manner != "absent":
                own = "stall" if manner == "stall" else "follow"
                clients = Clients(place, "", streams=STALLED, manner=own, seconds=STAY, path=path)
        else:
            own = "close" if manner == "absent" else manner
            clients = Clients(place, prompt, streams=STALLED, manner=own, words=1, seconds=STAY)
        if clients is not None and manner != "read":
            clients.wait_read()
        if until(lambda: completed(place) >= done + runs, 300) is None:
            raise SystemExit(f"runs did not end: {place.runs()}")
        if is_shared:
            # The end of the run is one long line: who reads gets it only now.
            time.sleep(3)
        after, most, still = place.rss, place.peak, place.connections
        if clients is not None:
            clients.stop()
        return most - before, after - before, still


# Readers who leave.


def vanished(reps: int) -> str:
    """How long streams outlive their readers, and whether their runs go on."""
    rows: list[Row] = []
    for manner, title in (("reset", "by a reset"), ("close", "by closing")):
        taken: list[float] = []
        finished: list[float] = []
        with places.model() as model:
            for rep in range(reps):
                with places.pollux(model.url) as place:
                    gone, done = one_vanishing(place, manner)
                    taken.append(gone)
                    finished.append(done)
                told(f"vanished {title}: repetition {rep + 1} of {reps}")
        worst = max(taken)
        rows.append((f"{STREAMS} leave {title}: until none is left", shown(taken, "s"), "≤ 5 s", worst <= 5))
        rows.append(("their runs that ended all the same", shown(finished, ""), f"{STREAMS}", min(finished) == STREAMS))
    return table("### Readers who vanish\n\n| measure | found | budget | holds |\n" + "| --- " * 4 + "|", rows)


def one_vanishing(place: Place, manner: str) -> tuple[float, float]:
    """Seconds until the server holds no connection and has ended every request; runs that ended by themselves."""
    warm(place)
    answered, done = place.log.count("/api/agent/run/stream"), completed(place)
    clients = Clients(place, f"paced-{DELTAS}-{GAP}", streams=STREAMS, manner=manner, words=20, seconds=8.0)
    left = clients.wait_read()["left"]

    def is_over() -> bool:
        return not place.connections and place.log.count("/api/agent/run/stream") - answered == STREAMS

    taken = float("inf") if until(is_over, 8) is None else time.monotonic() - left
    until(lambda: completed(place) - done == STREAMS, 30)
    if problems := clients.last()["errors"]:
        raise SystemExit(f"{manner}: {problems[:3]}")
    return taken, completed(place) - done


# The neighbour.


def neighbour(reps: int) -> str:
    """How long another user waits while everybody streams, also beside providers that never wait."""
    rows: list[Row] = []
    for restless in (0, 1, 10):
        looks: list[float] = []
        runs: list[float] = []
        with places.model() as model:
            for rep in range(reps):
                with places.pollux(model.url, scripted=True) as place:
                    look, run = one_neighbour(place, restless)
                    looks.append(look * 1e3)
                    runs.append(run * 1e3)
                told(f"neighbour, {restless} restless: repetition {rep + 1} of {reps}")
        beside = f"{STREAMS} streams" + (f" and {restless} × {RESTLESS:,} deltas without a wait" if restless else "")
        rows.append((f"a list, beside {beside}, slowest", shown(looks, "ms"), "< 1 s", max(looks) < 1000))
        rows.append((f"a whole run, beside {beside}, slowest", shown(runs, "ms"), "< 1 s", max(runs) < 1000))
    return table("### Another user\n\n| measure | found | budget | holds |\n" + "| --- " * 4 + "|", rows)


def one_neighbour(place: Place, restless: int) -> tuple[float, float]:
    """The slowest list and the slowest run of another user, in seconds."""
    warm(place)
    crowd = Clients(place, f"paced-{DELTAS}-{GAP}", streams=STREAMS, deltas=DELTAS, spread=2.0, probe=OTHER)
    beside = None
    if restless:
        time.sleep(4)
        beside = Clients(place, f"never-{RESTLESS}", streams=restless)
    got = crowd.figures()
    problems = got["errors"] + (beside.figures()["errors"] if beside else [])
    if problems:
        raise SystemExit(f"errors: {problems[:3]}")
    return got["probes"]["look"]["max"], got["probes"]["run"]["max"]


# What all of them need.


def warm(place: Place) -> None:
    """Everything that is made at the first use."""
    if problems := Clients(place, "paced-5-20", streams=20, deltas=5).figures()["errors"]:
        raise SystemExit(f"{place.name}: {problems[:3]}")


def completed(place: Place) -> int:
    return place.runs().get("completed", 0)


def begun(place: Place, prompt: str) -> str:
    """A run whose own stream was left at once."""
    body = json.dumps({"prompt": prompt}).encode()
    headers = {"Authorization": f"Bearer {TOKENS[0]}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{place.url}/api/agent/run/stream", body, headers)
    with urllib.request.urlopen(request) as response:
        return json.loads(response.readline())["runId"]


def middle(values: list[float]) -> float:
    return statistics.median(values)


def shown(values: list[float], unit: str) -> str:
    """The median, and from where to where it went."""
    low, high = figure(min(values)), figure(max(values))
    between = "" if low == high else f" ({low} to {high})"
    return f"{figure(middle(values))} {unit}".strip() + between


def figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def judged(found: tuple[float, float, str] | None) -> list[str]:
    if found is None:
        return ["", "", ""]
    value, budget, unit = found
    return [f"{value:.2f} {unit}".strip(), f"≤ {budget:g} {unit}".strip(), "yes" if value <= budget else "NO"]


def table(head: str, rows: list[Row]) -> str:
    body = [f"| {label} | {cells} | {budget} | {'yes' if holds else 'NO'} |" for label, cells, budget, holds in rows]
    return "\n".join([head, *body]) + "\n"


def told(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def page(tables: list[str], reps: int) -> str:
    machine = (
        f"{datetime.date.today().isoformat()}, {len(os.sched_getaffinity(0))} cores, {platform.system()},"  # noqa: DTZ011
        f" Python {platform.python_version()}, SQLite {sqlite3.sqlite_version} with the journal on"
    )
    return INTRODUCTION.format(machine=machine, reps=reps) + "\n" + "\n".join(tables) + "\n" + MEANINGS


INTRODUCTION = """\
# Load

Made by `make bench-http` (`.venv/bin/python benchmarks/http_load.py --write`): `pollux serve` with its journal on
SQLite (synchronous FULL), fifty users with tokens of their own, a model server that answers at a steady pace, and a
load generator, each a process of its own, on two cores together.
{machine}. Each cell is the median of {reps} alternating repetitions, with the least and the most.
"""

MEANINGS = """\
What the columns are:

- *bare* is Starlette and uvicorn writing the same lines at the same pace by themselves: no model, no journal, no
  checks. *relay* is the same, but asks the model for the words, as anything that passes on a model's answer must.
- *a delta's way* is from the moment the model wrote it to the moment the client had it. Deltas that arrive together are
  told as one, so a server that is late tells fewer lines.
- A stalled reader reads the first line and never again. It is left after 30 seconds; memory is looked at before that.
  *Nobody there* is the same runs with no reader at all.
- The other user asks by the clock, ten lists and two runs a second, whether or not the last answer has come.

What is over its budget, and why:

- The first line, of five hundred that come at once. It is told when the run is in the journal. A profile of that finds
  about a third of the loop's time in calls of the model for runs that began before, mostly connecting; the rest is
  spread over accepting, reading, deciding and writing. Of those who come one after the other it holds.
- Fifty runs of 20 MiB each need four to five GiB by themselves. Differences of 64 MiB cannot be told from chance beside
  that; fifty readers of one run can.
- Readers who do read one run of 20 MiB cost more than those who stall. Its reply is one line of the journal's stream,
  and each of them is sent it; that this is the cause was not measured.
"""

if __name__ == "__main__":
    main()
