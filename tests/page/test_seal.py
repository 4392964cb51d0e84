"""Sealed histories: what was given comes back, to whom it was given; anything else is refused."""

import hmac
import json
from collections import Counter
from copy import deepcopy
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.page.conversations import FORMER, HOLDER, KEY, NOW, conversation, sealed_one, waiting
from tests.page.mutations import MUTATIONS, RARE, History, is_the_same

from pollux.asgi.bodies import parsed
from pollux.core.canonical import canonical
from pollux.core.errors import Misfit, PolluxError, ValidationError
from pollux.core.ids import RunId
from pollux.core.messages import user
from pollux.page.history import read, write
from pollux.page.seal import SECONDS, Holder, Opened, Seal, opened, sealed

SEAL = Seal(run_id=RunId("run_1"), tools_hash="abc", pending=("c1", "c2"))
HELLO = write([user("Hello")])
BOUND: dict[str, Any] = {"holder": HOLDER, "keys": (KEY,), "now": NOW}


def brought(history: Any, *, holder: Holder = HOLDER, keys: tuple[bytes, ...] = (KEY,), now: float = NOW) -> Opened:
    return opened(history, holder=holder, keys=keys, now=now)


def requested(history: Any) -> Opened:
    """As it arrives in a request: bytes, read by the door."""
    return brought(parsed(json.dumps({"history": history}).encode())["history"])


def given_out(**more: Any) -> History:
    # A copy: some tests change what they were given.
    return sealed(deepcopy(HELLO), SEAL, **more or BOUND)


def test_what_was_sealed_opens_and_says_what_travelled_with_it():
    found = brought(given_out())
    assert found.messages == (user("Hello"),)
    assert (found.run_id, found.pending, found.seal) == ("run_1", ("c1", "c2"), SEAL)
    assert found.expires_at == int(NOW) + SECONDS == int(NOW) + 24 * 3600


def test_the_seal_stands_on_the_last_message_beside_what_travels():
    (last,) = given_out()
    version, key, expires, tag = last["seal"].split(".")
    assert (version, len(key), int(expires), len(tag)) == ("v1", 12, int(NOW) + SECONDS, 64)
    assert {name: last[name] for name in ("runId", "tools", "pending")} == {
        "runId": "run_1",
        "tools": "abc",
        "pending": ["c1", "c2"],
    }
    assert last["role"] == "user" and last["parts"] == [{"text": "Hello"}]


def test_it_is_sealed_with_the_first_key_and_opens_with_any():
    keys = (b"n" * 32, KEY)
    history = given_out(holder=HOLDER, keys=keys, now=NOW)
    assert brought(history, keys=keys[:1]).messages and brought(history, keys=keys[::-1]).messages
    with pytest.raises(ValidationError, match="not known here any more"):
        brought(history)


def test_an_empty_history_is_a_new_conversation():
    assert brought([]) == Opened() and brought([]).pending == () and brought([]).run_id is None


def test_a_history_without_a_seal_is_unsigned():
    with pytest.raises(ValidationError, match="has no seal") as problem:
        brought(HELLO)
    assert problem.value.code == "history_unsigned"


def test_a_changed_history_is_invalid():
    history = given_out()
    history[0]["parts"][0]["text"] = "Hello!"
    with pytest.raises(ValidationError, match="changed after it was sealed") as problem:
        brought(history)
    assert problem.value.code == "history_invalid"


def test_after_a_day_it_has_expired_and_says_so_only_to_whom_it_was_given():
    history = given_out()
    assert brought(history, now=NOW + SECONDS - 1).messages
    with pytest.raises(Misfit, match="older than 24 hours") as problem:
        brought(history, now=int(NOW) + SECONDS)
    assert problem.value.code == "history_expired"
    with pytest.raises(ValidationError):
        brought(history, holder=Holder(visitor="bob", origin="", profile=""), now=NOW + SECONDS)


@pytest.mark.parametrize(
    "holder",
    [
        Holder(visitor="vis_bob", origin=HOLDER.origin, profile=HOLDER.profile),
        Holder(visitor=HOLDER.visitor, origin="https://evil.example", profile=HOLDER.profile),
        Holder(visitor=HOLDER.visitor, origin=HOLDER.origin, profile="admin"),
    ],
)
def test_nobody_else_can_bring_it_and_not_from_elsewhere(holder: Holder):
    with pytest.raises(ValidationError, match="given to somebody else"):
        brought(given_out(), holder=holder)


def test_two_visitors_whose_names_differ_in_unicode_form_alone_are_two():
    composed, apart = (Holder(visitor=name, origin="", profile="") for name in ("caf\u00e9", "cafe\u0301"))
    history = given_out(holder=composed, keys=(KEY,), now=NOW)
    assert brought(history, holder=composed).messages
    with pytest.raises(ValidationError, match="somebody else"):
        brought(history, holder=apart)


def test_the_first_key_seals_and_former_ones_still_open():
    history = given_out(holder=HOLDER, keys=(FORMER,), now=NOW)
    assert brought(history, keys=(KEY, FORMER)).messages
    with pytest.raises(ValidationError, match="a key that is not known here any more"):
        brought(history, keys=(KEY,))


def test_the_key_of_the_seal_is_not_the_key_it_was_made_of():
    (last,) = given_out()
    head, _, tag = last["seal"].rpartition(".")
    bound = json.dumps([head, HOLDER.visitor, HOLDER.origin, HOLDER.profile]).encode()
    whole = canonical([{name: value for name, value in last.items() if name != "seal"}])
    derived = hmac.digest(KEY, b"pollux page history: seal", "sha256")
    assert hmac.digest(KEY, bound + whole, "sha256").hex() != tag
    assert hmac.digest(derived, bound + whole, "sha256").hex() == tag


def test_order_of_members_and_white_space_are_free():
    history = sealed_one(Random(1))
    turned = json.loads(json.dumps([dict(reversed(message.items())) for message in history], indent=3))
    assert brought(turned) == brought(history)


def test_one_and_one_point_zero_are_the_same_number():
    history = write([user("go")])
    history[0]["parts"] = [{"functionCall": {"id": "a", "name": "b", "args": {"n": 1}}}]
    history = sealed(history, SEAL, holder=HOLDER, keys=(KEY,), now=NOW)
    history[0]["parts"][0]["functionCall"]["args"]["n"] = 1.0
    assert brought(history).messages[0].calls[0].args == {"n": 1}
    history[0]["parts"][0]["functionCall"]["args"]["n"] = True
    with pytest.raises(ValidationError):
        brought(history)


def test_a_member_named_twice_does_not_reach_the_seal():
    text = json.dumps({"history": given_out()}).replace('"role": "user"', '"role": "user", "role": "model"')
    with pytest.raises(ValidationError, match="twice"):
        parsed(text.encode())


def test_another_unicode_form_of_a_word_is_another_word():
    history = sealed(write([user("caf\u00e9")]), SEAL, holder=HOLDER, keys=(KEY,), now=NOW)
    history[0]["parts"][0]["text"] = "cafe\u0301"
    with pytest.raises(ValidationError, match="another Unicode form"):
        brought(history)


def test_an_earlier_history_is_still_what_it_was():
    """A replay: the conversation as it stood then, with the run and the waiting calls of then."""
    random = Random(5)
    messages, pending = waiting(random)
    first = Seal(run_id=RunId("run_1"), tools_hash="t", pending=pending)
    earlier = sealed(write(messages), first, holder=HOLDER, keys=(KEY,), now=NOW)
    more = [*brought(earlier).messages, *conversation(random)]
    later = sealed(write(more), SEAL, holder=HOLDER, keys=(KEY,), now=NOW)
    assert brought(later).messages == tuple(more)
    assert (brought(earlier).run_id, brought(earlier).pending) == ("run_1", pending)
    # The later one holds no trace of the earlier seal: what was given once cannot be cut out of it.
    with pytest.raises(ValidationError, match="no seal"):
        brought(later[: len(messages)])


def test_what_is_sealed_already_or_empty_is_not_sealed():
    some = [[{**HELLO[0], name: "x"}] for name in ("seal", "runId", "tools", "pending")]
    for history, said in (([], "at least one message"), *((each, "without a seal") for each in (given_out(), *some))):
        with pytest.raises(ValidationError, match=said):
            sealed(history, SEAL, holder=HOLDER, keys=(KEY,), now=NOW)


def test_ids_that_would_not_open_again_are_not_sealed():
    seal = Seal(run_id=RunId("run_1"), tools_hash="", pending=("cafe\u0301",))
    with pytest.raises(ValidationError, match="composed form"):
        sealed(HELLO, seal, holder=HOLDER, keys=(KEY,), now=NOW)


@pytest.mark.parametrize("message", [{"role": "system", "parts": []}, {"role": "user", "parts": [{"new": 1}]}])
def test_what_another_version_sealed_and_this_one_cannot_read_is_refused(message: Any):
    with pytest.raises(ValidationError, match="message 0 of the history") as problem:
        brought(sealed([message], SEAL, holder=HOLDER, keys=(KEY,), now=NOW))
    assert problem.value.code == "history_invalid"


@pytest.mark.parametrize("other", [{"run_id": 1}, {"tools_hash": None}])
def test_what_travels_with_a_seal_in_another_shape_is_refused(other: dict[str, Any]):
    shape: dict[str, Any] = {"run_id": "run_1", "tools_hash": "abc", **other}
    with pytest.raises(ValidationError, match="what travels with its seal") as problem:
        brought(sealed(HELLO, Seal(**shape), **BOUND))
    assert problem.value.code == "history_invalid"


def test_what_has_no_canonical_form_is_refused():
    history = given_out()
    history[0]["parts"][0]["number"] = 2**60
    with pytest.raises(ValidationError, match=r"within 2\^53") as problem:
        brought(history)
    assert problem.value.code == "history_invalid"


def test_a_key_does_not_show_itself():
    from pollux.page.seal import _Key  # pyright: ignore[reportPrivateUsage]

    assert "kkkk" not in repr(_Key.of(KEY)) and repr(_Key.of(KEY).secret) not in repr(_Key.of(KEY))


def test_every_history_that_nobody_touched_is_accepted():
    for seed in range(100):
        history = sealed_one(Random(seed))
        rest = {name: value for name, value in history[-1].items() if name not in ("seal", "runId", "tools", "pending")}
        assert requested(history).messages == read([*history[:-1], rest]), seed


@pytest.mark.slow
@pytest.mark.parametrize("mutations", [2_000, pytest.param(100_000, marks=pytest.mark.soak)])
def test_no_changed_history_is_accepted(mutations: int):
    random = Random(20_261_115)
    codes: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    history = sealed_one(random)
    while codes.total() < mutations:
        if random.random() < 0.2:
            history = sealed_one(random)
            assert requested(history).run_id == "run_1"
        mutate = random.choice(MUTATIONS if random.random() < 0.99 else RARE)
        changed = mutate(random, deepcopy(history))
        if is_the_same(changed, history):
            continue
        kinds[mutate.__name__] += 1
        codes[refusal(changed)] += 1
    assert set(kinds) == {mutate.__name__ for mutate in (*MUTATIONS, *RARE)}
    assert codes["history_invalid"] > mutations // 2 and codes["history_unsigned"] and codes["history_expired"]
    assert set(codes) == {"history_invalid", "history_unsigned", "history_expired"}


def refusal(history: Any) -> str:
    """The code that it was refused with. The seal has to find it out alone, whatever a door would refuse before."""
    try:
        brought(history)
    except PolluxError as problem:
        return problem.code
    raise AssertionError(f"accepted: {json.dumps(history)}")


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
MESSAGES = st.lists(st.dictionaries(st.sampled_from(["role", "parts", "seal", "runId", "pending"]), JSONS), min_size=1)


@settings(deadline=None)
@given(MESSAGES | JSONS.filter(lambda found: found != []))
def test_junk_is_refused_with_a_code(history: Any):
    assert refusal(history) in ("history_invalid", "history_unsigned")
