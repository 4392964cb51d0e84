"""Keep journals as this version writes them: `python scripts/keep_journal.py tests/journals/v3`.

When an event has gained a field, a word or a kind, those that are kept do not have it, and a test says so. Say in
pollux.wire.versions since when it is there, then keep a new directory beside the others. None is ever written again.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.engine.builders import Lab
from tests.journals import kept
from tests.journals.scenes import SCENES

from pollux.testing.store_lab import EVERY_EVENT, EVERY_THREAD_EVENT
from pollux.wire.codec import EVENTS, Codec


def main(place: Path) -> None:
    """Write a directory that is not there yet."""
    place.mkdir()
    expected = asyncio.run(_play(place))
    (place / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n", "utf-8")
    kept.write(place / "samples.jsonl", _samples())
    words = sorted(kept.vocabulary(*EVENTS.values()))
    (place / "vocabulary.txt").write_text("\n".join(words) + "\n", "utf-8")


async def _play(place: Path) -> dict[str, object]:
    """Every scene, on one file. What each stream says in the end."""
    expected: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        lab, path, seen = Lab("sqlite", Path(folder)), Path(folder) / "pollux.db", set[str]()
        for scene in SCENES:
            async with asyncio.timeout(10):
                await scene(lab)
            await lab.close()
            threads = {name: journal for name, journal in kept.threads_in(path).items() if name not in seen}
            seen |= threads.keys()
            rows = [row for journal in threads.values() for row in journal.rows]
            contents = {digest: body for journal in threads.values() for digest, body in journal.contents.items()}
            journal = kept.Journal(rows, contents)
            kept.write(place / f"{scene.__name__}.jsonl", journal)
            expected |= {stream: kept.told(events) for stream, events in journal.streams().items()}
        (place / "store.sql").write_text(kept.dump(path), "utf-8")
    return expected


def _samples() -> kept.Journal:
    codec = Codec(kept.KEY)
    rows: list[kept.Row] = []
    contents: dict[str, bytes] = {}
    for number, event in enumerate((*EVERY_EVENT, *EVERY_THREAD_EVENT), 1):
        stored = codec.encode("thr_samples", event)
        rows.append(kept.Row("thr_samples", "samples", number, stored.kind, stored.version, event.at, stored.facts))
        contents.update(stored.contents)
    return kept.Journal(rows, contents)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("expected the directory to make: python scripts/keep_journal.py tests/journals/v3")
    main(Path(sys.argv[1]))
