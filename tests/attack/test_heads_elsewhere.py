"""Who has the machine can cut the audit's end off together with its heads. Heads that are kept elsewhere show it."""

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from aiohttp import web
from tests.cli.store_bench import Place, place
from tests.engine.builders import KEY
from tests.http.site import process
from tests.waiting import until

from pollux.bootstrap import http_for
from pollux.engine.ports import AuditFact, Change
from pollux.stores.heads import Heads
from pollux.stores.sqlite import SqliteStore
from pollux.witness import Witness, to_file, to_url

__all__ = ["place"]


def cut(store: Path, heads: Path, *, keep: int) -> None:
    """The last entries, the memory of their numbers and their heads: as if they had never been."""
    with closing(sqlite3.connect(store)) as db, db:
        triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")
        db.execute("DELETE FROM audit WHERE seq > ?", (keep,))
        db.execute("UPDATE sqlite_sequence SET seq = ?", (keep,))
        for _, text in triggers:
            db.execute(text)
    kept = [line for line in heads.read_text().splitlines() if json.loads(line)["seq"] <= keep]
    # In place: another file would be noticed.
    heads.write_text("".join(f"{line}\n" for line in kept))


async def test_a_tail_that_is_gone_with_its_heads_shows_by_a_head_kept_elsewhere(place: Place, tmp_path: Path):
    for _ in range(3):
        await place.waiting()
    seq, head = place.pollux("audit", "head").stdout.split()
    earlier, kept = place.data("audit", "list", "--json")["items"][0], tmp_path / "kept"
    kept.write_text(f"1 {earlier['hash']}\n\n{seq} {head}\n{json.dumps({'seq': int(seq), 'hash': head, 'sig': 'x'})}\n")
    for words in (["--head", head], ["--head", f"{seq} {head}"], ["--head-file", str(kept)]):
        assert place.pollux("audit", "verify", *words).returncode == 0, words

    cut(place.store, place.store.parent / "audit-heads.jsonl", keep=2)
    assert place.pollux("audit", "verify").returncode == 0, "nothing on this machine knows of it"
    assert place.pollux("audit", "verify", "--head", earlier["hash"]).returncode == 0
    for words in (["--head", head], ["--head", f"{seq} {head}"], ["--head-file", str(kept)]):
        done = place.pollux("audit", "verify", *words)
        assert (done.returncode, "lost head: " in done.stdout, head in done.stdout) == (1, True, True), words
    told = json.loads(place.pollux("audit", "verify", "--head", head, "--json").stdout)
    assert (told["valid"], told["problems"]) == (False, [f"lost head: the chain does not hold {head}"])


async def test_heads_that_are_gone_are_named_and_so_are_heads_that_are_none(place: Place, tmp_path: Path):
    await place.waiting()
    (place.store.parent / "audit-heads.jsonl").unlink()
    done = place.pollux("audit", "verify")
    assert (done.returncode, done.stdout.startswith("lost heads: there is 1 entry")) == (1, True)
    (tmp_path / "empty").touch()
    for words in (["--head", "12"], ["--head", "f" * 63], ["--head-file", str(tmp_path / "empty")],
                  ["--head-file", str(tmp_path / "none")]):  # fmt: skip
        assert place.pollux("audit", "verify", *words).returncode == 2, words


@pytest.mark.parametrize("name", ["audit-heads.jsonl", "audit.key", "pollux.db", "kept"])
async def test_no_command_waits_for_a_pipe_in_the_place_of_a_file(place: Place, tmp_path: Path, name: str):
    await place.waiting()
    pipe = tmp_path / "kept" if name == "kept" else place.store.parent / name
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe, 0o600)
    for words in (["store", "status"], ["doctor"], ["audit", "verify", "--head-file", str(tmp_path / "kept")]):
        done = place.pollux(*words)
        is_asked = name != "kept" or words[0] == "audit"
        assert ("not a regular file" in done.stdout + done.stderr) == is_asked, (words, done)
        assert not is_asked or done.returncode in (1, 2)


async def test_a_pipe_that_nobody_reads_takes_no_head(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="No such device"):
        await to_file(tmp_path / "pipe")("head")


async def test_every_place_gets_the_newest_head_until_it_takes_it(tmp_path: Path):
    answers, got = [503, 503, 200, 200], list[str]()

    async def taken(request: web.Request) -> web.Response:
        got.append(await request.text())
        return web.Response(status=answers[len(got) - 1])

    app = web.Application()
    app.router.add_post("/heads", taken)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/heads"
        store, http = SqliteStore(tmp_path / "pollux.db", key=KEY), http_for(url)
        await store.open()
        witness = Witness(store, [to_file(tmp_path / "file"), to_url(url, http)], seconds=1)
        assert await witness.tell(), "there is nothing to tell yet"
        for n in range(2):
            await store.commit(Change(audit=(AuditFact(1.0 + n, "started", "ada"),)))
            assert not await witness.tell()
        assert await witness.tell()
        assert await witness.tell()
        await store.close()
        await http.close()
    finally:
        await runner.cleanup()
    assert [json.loads(text)["seq"] for text in got] == [1, 2, 2]
    kept = Heads(tmp_path / "file", KEY).read()
    assert ([tip.seq for tip in kept.heads], kept.forged) == ([1, 2], 0)


async def test_a_whole_machine_put_back_shows_by_heads_on_another(tmp_path: Path):
    def store() -> SqliteStore:
        return SqliteStore(tmp_path / "a.db", key=KEY, heads=tmp_path / "heads", elsewhere=tmp_path / "elsewhere")

    first = store()
    await first.open()
    await first.commit(Change(audit=(AuditFact(1.0, "started", "ada"),)))
    await first.close()
    for name in ("a.db", "heads"):
        shutil.copyfile(tmp_path / name, tmp_path / f"{name}.backup")
    again = store()
    await again.open()
    await again.commit(Change(audit=(AuditFact(2.0, "completed", "ada"),)))
    await Witness(again, [to_file(tmp_path / "elsewhere")], seconds=60).tell()
    await again.close()
    for name in ("a.db", "heads"):
        # Over the files that are there, so that these are the same ones.
        shutil.copyfile(tmp_path / f"{name}.backup", tmp_path / name)
    restored = store()
    await restored.open()
    assert await restored.restored() == "its signed heads reach entry 2, which it does not hold"
    await restored.close()


@pytest.mark.slow
async def test_a_server_gives_its_heads_away(place: Place, tmp_path: Path):
    out = tmp_path / "out.jsonl"
    await place.waiting()
    environ = {"POLLUX_HOME": str(place.store.parent), "POLLUX_AUDIT_HEADS_FILE": str(out)}
    async with process(tmp_path, **environ) as serving:
        await until(out.exists)
        assert await serving.stop() == 0
    [line] = out.read_text().splitlines()
    assert json.loads(line)["seq"] == 1
    assert place.process("audit", "verify", "--head-file", str(out)).returncode == 0
