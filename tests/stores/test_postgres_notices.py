"""What a notice of the PostgreSQL store holds: short pieces that continue one another, and news that names runs."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from pollux.core.ids import RunId
from pollux.engine.airwaves import Piece
from pollux.engine.ports import ANYTHING, News
from pollux.stores.postgres.airwaves import announcements, payloads
from pollux.stores.postgres.news import KEPT, LONGEST, Gathered


@given(said=st.text(st.characters(codec=None), max_size=50), times=st.sampled_from([1, 200, 2_000]))
def test_any_text_fits_into_short_notices_that_continue_one_another(said: str, times: int):
    whole, place = "", 7
    for told in payloads(Piece(3, 2, 7, "text", said * times)):
        assert 0 < len(told.encode()) < LONGEST and "\0" not in told
        turn, attempt, at, kind, part = msgspec.json.decode(told)
        assert (turn, attempt, at, kind) == (3, 2, place, "text")
        place += len(part)
        whole += part
    assert whole == (said * times).encode(errors="replace").decode()


def test_many_runs_are_announced_in_few_notices():
    names = [RunId(f"run_{number:024}") for number in range(1_000)]
    told = list(announcements("me", [*names, RunId("x" * LONGEST)], anew=False))
    assert len(told) == 4
    assert max(len(each) for each in told) < LONGEST


async def test_news_names_the_runs_until_there_is_too_much_of_it():
    gathered = Gathered("me")
    gathered.hear("me 7 run_own")
    gathered.hear("you 3 run_a")
    gathered.hear("you 2 run_a")
    gathered.hear("you 1 run_b c")
    assert await gathered.take() == News({RunId("run_a"): 3, RunId("run_b c"): 1})
    for strange in ("old run_a", "short", "you x run_a", f"you {'9' * 5_000} run_a"):
        gathered.hear(strange)
        assert await gathered.take() == ANYTHING
    for number in range(KEPT + 1):
        gathered.hear(f"you 1 run_{number}")
    assert await gathered.take() == ANYTHING
