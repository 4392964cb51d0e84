"""Paths by their spelling, and what of them is protected."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollux.core.errors import PolicyError, PolluxError, ValidationError
from pollux.tools.files.guard import Guard
from pollux.tools.files.names import MAX_DEPTH, folded, is_plain, names_of, settled, shown

TOPS = [("home", "ada", "work"), ("srv", "work")]


@pytest.mark.parametrize(
    ("path", "names"),
    [
        (".", ()),
        ("a", ("a",)),
        ("./a//b/", ("a", "b")),
        ("a/../b", ("a", "..", "b")),
        ("/home/ada/work", ()),
        ("/home/ada/work/a", ("a",)),
        ("//srv/./work/x/../a", ("a",)),
        ("/home/ada/other/../work/a", ("a",)),
        ("file~", ("file~",)),
        ("a/~", ("a", "~")),
        ("naïve ☃ file.txt", ("naïve ☃ file.txt",)),
    ],
)
def test_a_path_is_read_as_names_beneath_the_root(path: str, names: tuple[str, ...]):
    assert names_of(path, tops=TOPS) == names


@pytest.mark.parametrize("path", ["/", "/home/ada", "/home/ada/works/a", "/home/ada/work/../x", "/etc/passwd"])
def test_an_absolute_path_elsewhere_is_outside(path: str):
    with pytest.raises(PolicyError, match="outside the working folder"):
        names_of(path, tops=TOPS)


@pytest.mark.parametrize("path", [None, 7, b"a", ["a"], object()])
def test_what_is_no_text_is_no_path(path: object):
    with pytest.raises(ValidationError, match="expected text"):
        names_of(path)  # pyright: ignore[reportArgumentType]


def test_the_bounds_are_where_they_are_said_to_be():
    longest = ("é" * 127 + "/") * 16 + "x" * 15
    assert names_of("x" * 255) and names_of("/".join("x" * MAX_DEPTH)) and names_of(longest)
    for path in ("a/" + "x" * 256, "é" * 128, "/".join("x" * (MAX_DEPTH + 1)), f"{longest}x", "/" * 4_096):
        with pytest.raises(ValidationError):
            names_of(path)


@pytest.mark.parametrize("char", [*"\0\n\x1f\x7f\x80\x9f", "\u2028", "\u202e", "\u2066"])
def test_characters_that_are_not_seen_are_in_no_path(char: str):
    assert not is_plain(f"a{char}b")
    with pytest.raises(ValidationError, match=f"control character U\\+{ord(char):04X}"):
        names_of(f"a{char}b")


@pytest.mark.parametrize("char", [*" ~\xa0é☃", "\ud7ff", "\ue000"])
def test_any_other_character_may_be(char: str):
    assert is_plain(f"a{char}b")
    assert names_of(f"a{char}b") == (f"a{char}b",)


def test_bytes_that_are_no_text_cannot_be_asked_for():
    for char in "\ud800\udc80\udcff\udfff":
        assert not is_plain(f"a{char}")
        with pytest.raises(ValidationError, match="surrogate"):
            names_of(f"a{char}")


def test_going_back_stays_inside_or_is_outside():
    assert settled(("a", "..", "b", "c", "..")) == ("b",)
    assert (shown(()), shown(("a", "b"))) == (".", "a/b")
    with pytest.raises(PolicyError):
        settled(("a", "..", ".."))


@given(st.text())
def test_any_text_is_a_path_beneath_the_root_or_refused_in_words(text: str):
    try:
        names = settled(names_of(text, tops=TOPS))
    except PolluxError:
        return
    assert not {"", ".", ".."} & set(names)
    assert all(is_plain(name) and "/" not in name for name in names)
    assert settled(names_of(shown(names))) == names


@pytest.mark.parametrize("name", [".env", ".ENV", ".Env.", ".env ", ".e\u200dnv", "\uff0eenv", ".\u24d4nv"])
def test_names_are_compared_as_the_most_forgiving_file_system_would(name: str):
    assert folded(name) == ".env"


@given(st.text(min_size=1, alphabet=st.characters(exclude_characters="/\0")))
def test_folding_a_folded_name_changes_nothing(name: str):
    assert folded(folded(name)) == folded(name)


@pytest.mark.parametrize("path", ["env", ".env.example", ".envrc", "x.env", "gitconfig", ".gitignore", ".github/x"])
def test_what_only_resembles_a_protected_name_is_not_protected(path: str):
    Guard().check_write(tuple(path.split("/")))


@pytest.mark.parametrize(
    "path", ["toml", "pollux.toml.bak", "config/gemini.yaml", ".gemini.yaml", "config/x/.gemini.yaml"]
)
def test_only_our_own_settings_are_kept(path: str):
    Guard().check_write(tuple(path.split("/")))


def test_extra_paths_are_protected_at_their_place_alone():
    guard = Guard(hidden=(("state", "keys"),), kept=(("vendor",),))
    assert not guard.may_read(("State", "KEYS", "x"))
    assert guard.may_read(("other", "state", "keys"))
    assert guard.may_read(("state",))
    guard.check_write(("src", "vendor"))
    with pytest.raises(PolicyError):
        guard.check_write(("vendor", "x"))
