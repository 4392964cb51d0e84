"""An outsider who knows the source, a user's name and their Idempotency-Key cannot name the run that they began."""

import hashlib
import re
from pathlib import Path

from tests.engine.builders import KEY
from tests.http.site import site

from pollux.core.ids import RunId, UserId
from pollux.engine.engine import RandomIds
from pollux.engine.start import Start
from pollux.stores.memory import MemoryStore
from pollux.stores.sqlite import SqliteStore
from pollux.testing import reply, scripted

PATH = "/api/agent/run"


def _guess(user: str, key: str) -> str:
    """What the id of a run was made of, as the source had it: nothing that is secret."""
    inner = hashlib.sha256("\0".join((user, PATH, key)).encode()).hexdigest()
    return "run_" + hashlib.sha256(f"{inner}\0000".encode()).hexdigest()[:24]


async def test_a_key_names_the_same_run_again_and_nobody_else_can_tell_which(tmp_path: Path):
    key = {"Idempotency-Key": "order-1"}
    store = SqliteStore(tmp_path / "pollux.db", key=KEY)
    async with site(tmp_path, scripted(reply("once")), store=store) as server:
        first = await server.ada.post(PATH, {"prompt": "hello"}, headers=key)
        again = await server.ada.post(PATH, {"prompt": "hello"}, headers=key)
        assert first.body["runId"] == again.body["runId"] != _guess("ada", "order-1")
        assert (await server.ada.get(f"/api/agent/runs/{_guess('ada', 'order-1')}")).status == 404
    other = SqliteStore(tmp_path / "other.db", key=b"o" * 32)
    assert other.digest("ada") != store.digest("ada") == SqliteStore(tmp_path / "same.db", key=KEY).digest("ada")


async def test_a_run_that_began_before_the_update_is_still_found_by_its_key(tmp_path: Path):
    body, store = '{"prompt":"hello"}', MemoryStore()
    async with site(tmp_path, scripted(reply("once")), store=store) as server:
        former = RunId(_guess("ada", "order-1"))
        request = hashlib.sha256(body.encode()).hexdigest()
        await server.engine.start(Start("hello", user=UserId("ada"), run_id=former, request=request))
        got = await server.ada.post(PATH, {"prompt": "other"}, headers={"Idempotency-Key": "order-1"})
        assert (got.status, got.code) == (409, "idempotency_mismatch")
        assert got.body["error"]["runId"] == former


def test_fresh_ids_have_128_random_bits():
    for made in (RandomIds().run_id(), RandomIds().thread_id()):
        assert re.fullmatch(r"(run|thr)_[0-9a-f]{32}", made)
    assert len({RandomIds().run_id() for _ in range(100)}) == 100
