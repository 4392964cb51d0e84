"""How often one may ask."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollux.asgi import door
from pollux.asgi.door import Rate
from pollux.asgi.errors import HttpError


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def took(rate: Rate, caller: str = "ada") -> bool:
    try:
        rate.take(caller)
    except HttpError:
        return False
    return True


def test_a_burst_passes_and_the_next_one_waits():
    rate = Rate(per_minute=60, burst=3, now=Time())
    assert [took(rate) for _ in range(5)] == [True, True, True, False, False]


def test_one_caller_does_not_use_up_anothers():
    rate = Rate(per_minute=60, burst=1, now=Time())
    assert (took(rate, "ada"), took(rate, "ada"), took(rate, "bob")) == (True, False, True)


def test_whoever_waits_as_long_as_told_is_let_in():
    time = Time()
    rate = Rate(per_minute=6, burst=1, now=time)
    rate.take("ada")
    with pytest.raises(HttpError) as caught:
        rate.take("ada")
    refusal = caught.value
    assert (refusal.status, refusal.code, refusal.headers["retry-after"]) == (429, "rate_limited", "10")
    time.now += 9.9
    assert not took(rate)
    time.now += 0.1
    assert took(rate)


def test_a_refused_request_costs_nothing():
    time = Time()
    rate = Rate(per_minute=60, burst=1, now=time)
    rate.take("ada")
    assert not any(took(rate) for _ in range(100))
    time.now += 1
    assert took(rate)


def test_a_long_rest_fills_the_burst_and_no_more():
    time = Time()
    rate = Rate(per_minute=60, burst=2, now=time)
    time.now += 1_000_000
    assert [took(rate) for _ in range(3)] == [True, True, False]


def test_callers_who_were_not_seen_for_longest_are_forgotten_first(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(door, "MOST_CALLERS", 2)
    rate = Rate(per_minute=60, burst=1, now=Time())
    for caller in ("ada", "bob"):
        rate.take(caller)
    assert not took(rate, "ada")
    rate.take("cleo")
    assert not took(rate, "ada")
    assert took(rate, "bob")


@given(st.lists(st.floats(0, 5), max_size=60), st.integers(1, 20), st.integers(1, 600))
def test_never_more_than_the_burst_and_what_came_in_since(waits: list[float], burst: int, per_minute: int):
    time = Time()
    rate = Rate(per_minute=per_minute, burst=burst, now=time)
    passed = 0
    for wait in waits:
        time.now += wait
        passed += took(rate)
        assert passed <= burst + time.now * per_minute / 60 + 1e-6
