"""Sealed bytes: readable with the key, for the owner, under the name; else not at all."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollux.core.errors import PolluxError, ValidationError
from pollux.tools.google.seal import HEAD_BYTES, Sealer, SealError

OLD, NEW = b"o" * 32, b"n" * 32
PLAIN = b"canary-token"


def test_what_was_sealed_opens_for_its_owner_under_its_name():
    sealer = Sealer([NEW])
    blob = sealer.sealed(PLAIN, user="ada", name="google")
    assert PLAIN not in blob and sealer.opened(blob, user="ada", name="google") == PLAIN


def test_two_seals_of_the_same_are_different():
    sealer = Sealer([NEW])
    assert len({sealer.sealed(PLAIN, user="ada", name="google") for _ in range(50)}) == 50


@pytest.mark.parametrize(("user", "name"), [("bob", "google"), ("ada", "other"), ("adag", "oogle"), ("", "adagoogle")])
def test_a_blob_moved_to_somebody_else_or_another_name_does_not_open(user: str, name: str):
    sealer = Sealer([NEW])
    blob = sealer.sealed(PLAIN, user="ada", name="google")
    with pytest.raises(SealError, match="somebody else"):
        sealer.opened(blob, user=user, name=name)


def test_owners_and_names_that_read_alike_are_told_apart():
    sealer = Sealer([NEW])
    blob = sealer.sealed(PLAIN, user='a","b', name="c")
    with pytest.raises(SealError):
        sealer.opened(blob, user="a", name='b","c')


def test_the_first_key_seals_and_all_open():
    before, after = Sealer([OLD]), Sealer([NEW, OLD])
    blob = before.sealed(PLAIN, user="ada", name="google")
    assert after.opened(blob, user="ada", name="google") == PLAIN
    assert before.is_current(blob) and not after.is_current(blob)
    anew = after.sealed(PLAIN, user="ada", name="google")
    assert after.is_current(anew) and Sealer([NEW]).opened(anew, user="ada", name="google") == PLAIN


def test_without_its_key_a_blob_stays_shut_and_the_error_says_what_to_do():
    blob = Sealer([OLD]).sealed(PLAIN, user="ada", name="google")
    with pytest.raises(SealError, match="Put the old key back beside the new one, or connect the account again"):
        Sealer([NEW]).opened(blob, user="ada", name="google")


def test_each_purpose_has_keys_of_its_own():
    blob = Sealer([NEW], purpose="one").sealed(PLAIN, user="ada", name="google")
    with pytest.raises(SealError):
        Sealer([NEW], purpose="another").opened(blob, user="ada", name="google")


def test_every_single_changed_bit_is_noticed():
    sealer = Sealer([NEW])
    blob = sealer.sealed(PLAIN, user="ada", name="google")
    for place in range(len(blob) * 8):
        changed = bytearray(blob)
        changed[place // 8] ^= 1 << place % 8
        with pytest.raises(SealError):
            sealer.opened(bytes(changed), user="ada", name="google")


def test_a_blob_cut_anywhere_is_noticed():
    sealer = Sealer([NEW])
    blob = sealer.sealed(PLAIN, user="ada", name="google")
    for end in range(len(blob)):
        with pytest.raises(SealError):
            sealer.opened(blob[:end], user="ada", name="google")


SEALER = Sealer([NEW, OLD])
HEAD = SEALER.sealed(b"", user="ada", name="google")[:HEAD_BYTES]


@given(st.binary(max_size=200), st.sampled_from([b"", HEAD[:1], HEAD[:9], HEAD]))
def test_whatever_else_comes_is_refused_and_breaks_nothing(rest: bytes, head: bytes):
    with pytest.raises(SealError):
        SEALER.opened(head + rest, user="ada", name="google")
    assert SEALER.is_current(head + rest) == (head + rest).startswith(HEAD[:9])


@pytest.mark.parametrize("keys", [[], [b""], [b"short"], [NEW, b"short"]])
def test_keys_that_could_be_guessed_are_refused(keys: list[bytes]):
    with pytest.raises(ValidationError, match="at least 16 bytes"):
        Sealer(keys)


def test_a_sealer_shows_nothing_of_its_keys():
    assert repr(Sealer([NEW, OLD])) == "Sealer(2 keys)"


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises(PolluxError, match=r"pip install 'pollux\[google\]'"):
        Sealer([NEW]).sealed(PLAIN, user="ada", name="google")
    with pytest.raises(PolluxError, match=r"pip install 'pollux\[google\]'"):
        Sealer([NEW]).opened(HEAD, user="ada", name="google")


def test_importing_imports_nothing_heavy():
    code = (
        "import sys, pollux.tools.google.oauth;"
        "print([name for name in sys.modules if name.startswith(('cryptography', 'google.', 'aiohttp'))])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_sealer_that_lives_through_a_change_of_keys_finds_the_new_one():
    keys = [b"a" * 32]
    old = Sealer(keys, renew=lambda: tuple(keys))
    before = old.sealed(b"before", user="ada", name="google")
    keys.insert(0, b"b" * 32)
    after = Sealer(keys).sealed(b"after", user="ada", name="google")
    assert old.opened(before, user="ada", name="google") == b"before"
    assert old.opened(after, user="ada", name="google") == b"after"
    assert old.is_current(after) and not old.is_current(before)
    with pytest.raises(SealError):
        old.opened(Sealer([b"c" * 32]).sealed(b"x", user="ada", name="google"), user="ada", name="google")
