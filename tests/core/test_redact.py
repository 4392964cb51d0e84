"""A secret is used, never shown."""

import copy
import pickle
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollux.core.redact import MASK, Masking, Secret, no_words, redact

CANARY = "sk-canary/+ä=42"


def test_a_secret_prints_as_a_mask_however_it_is_printed():
    secret = Secret(CANARY)
    for shown in (
        repr(secret),
        str(secret),
        f"{secret}",
        f"{secret:>40}",
        f"{secret!r}",
        str([secret]),
        str({1: secret}),
    ):
        assert CANARY not in shown


def test_a_secret_gives_its_value_when_asked_by_name():
    assert Secret(CANARY).reveal() == CANARY


def test_secrets_compare_by_value():
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert len({Secret("a"), Secret("a")}) == 1


def test_an_empty_secret_is_false():
    assert not Secret("")
    assert Secret("x")


def test_a_copy_of_a_secret_is_the_secret():
    secret = Secret(CANARY)
    assert copy.copy(secret) is copy.deepcopy(secret) is secret


def test_a_secret_refuses_to_be_pickled():
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(Secret(CANARY))


@pytest.mark.parametrize(
    "shown",
    [
        CANARY,
        quote(CANARY),
        quote(CANARY, safe=""),
        quote(CANARY, safe="").lower(),
        quote_plus(CANARY),
        b64encode(CANARY.encode()).decode(),
        urlsafe_b64encode(CANARY.encode()).decode(),
    ],
)
def test_a_secret_is_masked_in_every_common_spelling(shown: str):
    assert redact(f"key={shown}; done", [Secret(CANARY)]) == f"key={MASK}; done"


@given(before=st.binary(max_size=7), after=st.binary(max_size=7))
def test_a_secret_is_masked_inside_a_longer_base64_text(before: bytes, after: bytes):
    encoded = b64encode(before + b"user:sk-secret-canary" + after).decode()
    assert MASK in redact(encoded, [Secret("sk-secret-canary")])


# Without the mask's own characters: next to it they could spell the secret again by chance.
TEXT = st.text(alphabet=st.characters(exclude_characters=MASK))


@given(value=TEXT.filter(lambda text: len(text) >= 4), before=TEXT, after=TEXT)
def test_no_text_keeps_a_secret_it_was_asked_to_mask(value: str, before: str, after: str):
    assert value not in redact(before + value + after, [Secret(value)])


def test_the_longer_of_two_secrets_is_masked_whole():
    assert redact("abcdefgh", [Secret("cdef"), Secret("abcdefgh")]) == MASK


def test_very_short_secrets_are_left_alone_because_they_occur_in_ordinary_words():
    assert redact("a cat sat", [Secret("at"), Secret("")]) == "a cat sat"


def test_a_json_value_is_masked_in_its_names_and_in_its_depth():
    masking = Masking([Secret(CANARY)])
    value = {f"is {CANARY}": [CANARY, {"deep": f"<{CANARY}>"}], "count": 3, "none": None}
    assert masking.value(value) == {f"is {MASK}": [MASK, {"deep": f"<{MASK}>"}], "count": 3, "none": None}


@given(before=TEXT, after=TEXT, cut=st.integers(0, 60))
def test_a_secret_that_comes_in_pieces_is_masked_as_one(before: str, after: str, cut: int):
    masking, whole = Masking([Secret("sk-canary-42")]), before + "sk-canary-42" + after
    told = masking.piece(whole[:cut]) + masking.piece(whole[cut:]) + masking.rest()
    assert "sk-canary-42" not in told
    assert told == masking.text(whole)


def test_what_is_held_back_of_one_text_is_not_told_in_another():
    masking = Masking([Secret("sk-canary-42")])
    assert masking.piece("key: sk-can") == "key: "
    other = masking.again()
    assert other.rest() == ""
    assert other.text("sk-canary-42") == MASK
    assert masking.rest() == "sk-can"


def test_a_secret_that_is_an_ordinary_word_can_be_left_out():
    word, key = Secret("sesame"), Secret("sk-canary-42")
    assert no_words([word, key]) == (key,)
