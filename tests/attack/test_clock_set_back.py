"""The host's clock is set back by an hour. What has expired stays expired, and lists stay in order."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.datastructures import Headers
from tests.engine.builders import ADA, KEY, TO_BOB, answer, mail, question
from tests.http.site import TOKENS, settings_in
from tests.stores.postgres import fresh_database
from tests.waiting import until

from pollux.asgi.auth import Authority
from pollux.asgi.credentials import Credentials, authority_of
from pollux.asgi.sessions import SESSION_SECONDS
from pollux.asgi.visits import VISIT_SECONDS
from pollux.bootstrap import make_engine, make_home
from pollux.core.errors import AuthError, Misfit
from pollux.core.ids import UserId
from pollux.core.profile import Limits, Profile
from pollux.core.redact import Secret
from pollux.engine import timekeeping
from pollux.engine.engine import Engine
from pollux.engine.ports import Store
from pollux.engine.system import SystemClock
from pollux.providers.scripted import ScriptedProvider, call, reply
from pollux.stores.memory import MemoryStore
from pollux.stores.postgres.store import PostgresStore
from pollux.stores.sqlite import SqliteStore
from pollux.stores.uptime import Uptime, note_of, time_since, uptime

HOUR = 3600.0
LIFE = 60.0
BRIEF = {"default": Profile(tools=("send_mail",), limits=Limits(approval_seconds=LIFE))}


class Host:
    """A machine whose clock anybody may set. Its steady clock nobody can."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.wall = now
        self.up = 50.0
        self.boot = "first"

    def uptime(self) -> Uptime:
        return Uptime(self.boot, self.up)

    def pass_by(self, seconds: float) -> None:
        self.wall += seconds
        self.up += seconds

    def clock(self) -> SystemClock:
        """As a process that begins now would read it."""
        return SystemClock(lambda: self.wall, lambda: self.up)


class Place:
    """A store, and processes that open it one after the other."""

    def __init__(self, path: Path, url: str) -> None:
        self._path = path
        self._url = url
        self.sent = mail()
        self.store: Store = MemoryStore()

    def engine(self, host: Host) -> Engine:
        provider = ScriptedProvider(call("send_mail", TO_BOB), reply("done"), call("send_mail", TO_BOB), reply("done"))
        self.store = self._store(host)
        return make_engine(self.store, lambda model: provider, tools=[self.sent], profiles=BRIEF, clock=host.clock())

    def _store(self, host: Host) -> Store:
        if self._url:
            return PostgresStore(self._url, key=KEY)
        return SqliteStore(self._path / "pollux.db", key=KEY, machine=host.uptime)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "sqlite":
        yield Place(tmp_path, "")
        return
    with fresh_database() as url:
        yield Place(tmp_path, url)


async def test_an_approval_that_expired_while_the_process_ran_stays_expired(place: Place):
    host = Host(2_900_000_000.0)
    async with place.engine(host) as engine:
        asked = question(await answer(engine)).id
        host.pass_by(LIFE + 1)
        host.wall -= HOUR
        await _is_expired(engine, asked)
    assert not place.sent.ran


async def test_an_approval_that_somebody_was_too_late_for_is_too_late_for_the_next_process(place: Place):
    host = Host(2_900_000_000.0)
    async with place.engine(host) as engine:
        asked = question(await answer(engine)).id
    host.pass_by(LIFE + 1)
    async with place.engine(host) as engine:
        await _is_expired(engine, asked)
    host.wall -= HOUR
    async with place.engine(host) as engine:
        await _is_expired(engine, asked)
    assert not place.sent.ran


async def test_an_approval_that_expired_while_no_process_ran_is_too_late_for_the_next_one(tmp_path: Path):
    place, host = Place(tmp_path, ""), Host(2_900_000_000.0)
    async with place.engine(host) as engine:
        asked = question(await answer(engine)).id
    host.pass_by(LIFE + 1)
    host.wall -= HOUR
    async with place.engine(host) as engine:
        await _is_expired(engine, asked)
    assert not place.sent.ran


async def test_what_time_a_process_saw_while_it_had_nothing_to_do_is_known_after_the_machine_was_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    place, host = Place(tmp_path, ""), Host(2_900_000_000.0)
    monkeypatch.setattr(timekeeping, "NOTE_SECONDS", 0.01)
    async with place.engine(host) as engine:
        asked = question(await answer(engine)).id
        host.pass_by(LIFE + 1)
        await until(lambda: _has_noted(place.store, host.wall))
        # As if it had been killed: another process opens the store before this one has closed it.
        host.wall, host.up, host.boot = host.wall - HOUR, 3.0, "second"
        async with place.engine(host) as next_one:
            await _is_expired(next_one, asked)


async def test_a_process_that_ends_notes_the_time_while_a_question_is_open(tmp_path: Path):
    place, host = Place(tmp_path, ""), Host(2_900_000_000.0)
    async with place.engine(host) as engine:
        asked = question(await answer(engine)).id
        host.pass_by(LIFE - 1)
    host.wall, host.up, host.boot = host.wall - HOUR, 3.0, "second"
    async with place.engine(host) as engine:
        host.pass_by(1)
        await _is_expired(engine, asked)


@pytest.mark.parametrize("seconds", [-20.0, float("inf"), float("nan")])
async def test_an_uptime_that_makes_no_sense_says_nothing(tmp_path: Path, seconds: float):
    place, host = Place(tmp_path, ""), Host(2_900_000_000.0)
    async with place.engine(host) as engine:
        await answer(engine)
    host.up += seconds
    async with place.engine(host):
        assert await place.store.latest(is_live=True) == host.wall


def test_the_uptime_of_this_machine_has_a_name_and_goes_on():
    before, after = uptime(), uptime()
    assert before and after and before.boot == after.boot and before.seconds <= after.seconds
    assert time_since(note_of(5.0, lambda: after), lambda: after) == time_since("5.0", lambda: after) == 0
    assert time_since("5.0 a b", lambda: Uptime("a", 3.0)) == 0
    assert note_of(5.0, lambda: None) == "5.0"
    assert time_since(note_of(5.0, lambda: after), lambda: None) == 0


async def test_what_another_run_wrote_later_tells_the_next_process_the_time(place: Place):
    host = Host(2_900_000_000.0)
    async with place.engine(host) as engine:
        asked = question(await answer(engine)).id
    host.pass_by(LIFE + 2)
    async with place.engine(host) as engine:
        later = question(await answer(engine)).id
    host.wall -= HOUR
    async with place.engine(host) as engine:
        assert engine.clock.now() >= host.wall + HOUR - 2
        await _is_expired(engine, asked)
        with pytest.raises(Misfit, match="needs approval"):
            await engine.resolve(asked, "approved", by=ADA)
        await engine.resolve(later, "rejected", by=ADA)


def authority(engine: Engine, store: Store, path: Path) -> Authority:
    """Who knows the sessions and visits of a server, by this engine's time."""
    settings = settings_in(path)
    make_home(settings.home)
    return authority_of(settings, Credentials(((UserId(ADA), Secret(TOKENS["ada"])),)), store, clock=engine.clock)


async def test_a_session_that_somebody_was_too_late_for_is_too_late_for_the_next_process(place: Place, tmp_path: Path):
    host = Host(2_900_000_000.0)
    async with place.engine(host) as engine:
        server = authority(engine, place.store, tmp_path)
        mark = (await server.of_account(TOKENS["ada"])).mark
        set_cookie, _ = await server.sessions.open(UserId(ADA), mark, made_by="token")
        headers = Headers({"cookie": set_cookie.partition(";")[0]})
        assert (await server.identify(headers, "GET")).user == ADA
        host.pass_by(SESSION_SECONDS + 1)
        host.wall -= HOUR
        await _is_refused(server, headers)
    async with place.engine(host) as engine:
        await _is_refused(authority(engine, place.store, tmp_path), headers)


async def test_a_visit_that_somebody_was_too_late_for_is_too_late_for_the_next_process(tmp_path: Path):
    place, host = Place(tmp_path, ""), Host(2_900_000_000.0)
    async with place.engine(host) as engine:
        server = authority(engine, place.store, tmp_path)
        assert server.visits
        headers = Headers(
            {"authorization": f"Bearer {server.visits.given(origin='https://a.example', profile='page')[0]}"}
        )
        assert (await server.identify(headers, "GET")).visit
        host.pass_by(VISIT_SECONDS + 2)
        host.wall -= HOUR
        await _is_refused(server, headers)
    async with place.engine(host) as engine:
        await _is_refused(authority(engine, place.store, tmp_path), headers)


async def test_lists_are_in_the_order_in_which_things_began(place: Place):
    host = Host(2_900_000_000.0)
    begun: list[str] = []
    for _ in range(3):
        async with place.engine(host) as engine:
            host.pass_by(0.001)
            begun.append((await answer(engine)).id)
        host.pass_by(2)
        host.wall -= HOUR
    async with place.engine(host) as engine:
        assert [row.run_id for row in await engine.queries.runs(ADA)] == begun[::-1]
        assert [found.run.id for found in await engine.queries.approvals(ADA)] == begun[::-1]


async def test_lists_are_in_the_order_of_commits_where_processes_at_once_have_other_clocks(place: Place):
    ahead, behind = Host(2_900_000_000.0 + HOUR), Host(2_900_000_000.0)
    async with place.engine(behind) as late, place.engine(ahead) as early:
        begun = [await answer(early), await answer(late)]
        second, first = [row.run_id for row in await late.queries.runs(ADA)]
        assert [first, second] == [run.id for run in begun]
        assert [found.run.id for found in await late.queries.approvals(ADA)] == [second, first]
        assert [each.id for each in await early.queries.threads(ADA)] == [run.thread_id for run in begun[::-1]]


@pytest.mark.slow
async def test_a_host_that_is_behind_its_database_goes_by_the_database(tmp_path: Path):
    with fresh_database() as url:
        async with Place(tmp_path, url).engine(Host(1_000.0)) as engine:
            assert engine.clock.now() > 1_700_000_000


async def _has_noted(store: Store, moment: float) -> bool:
    return await store.latest(is_live=False) >= moment


async def _is_refused(server: Authority, headers: Headers) -> None:
    with pytest.raises(AuthError):
        await server.identify(headers, "GET")


async def _is_expired(engine: Engine, approval: str) -> None:
    with pytest.raises(Misfit) as refused:
        await engine.resolve(approval, "approved", by=ADA)
    assert refused.value.code == "expired"
