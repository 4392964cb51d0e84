"""Patterns that others write: found like re.search finds them, in linear time, or refused with a reason."""

import re
import subprocess
import sys

import pytest

from pollux.core.errors import ValidationError
from pollux.engine.patterns import is_match, require_pattern


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("b", "abc"),
        ("^b", "abc"),
        ("^a", "abc"),
        ("c$", "abc"),
        ("b$", "abc"),
        ("", ""),
        ("", "abc"),
        ("(?i)ABC", "xabcx"),
        ("ABC", "abc"),
        (r"\d{4}-\d{2}", "on 2026-11-16"),
        (r"\bfoo\b", "a foo b"),
        (r"\bfoo\b", "afoob"),
        ("a|b", "xxb"),
        ("a.c", "a\nc"),
        ("(?s)a.c", "a\nc"),
        ("(?m)^b$", "a\nb\nc"),
        ("[(?=]", "?"),
        (r"\(\?=", "(?="),
        (r"\\1", "\\1"),
        ("(?P<year>[0-9]+)x", "12x"),
        ("(?:ab)+c", "ababc"),
        ("ü", "grün"),
        ("^[^a]$", "😀"),
        ("rm +-rf", "sudo rm  -rf /"),
        ('"always_allowed":true', '{"a":"\\"always_allowed\\":true"}'),
        ("a\0b", "a\0b"),
    ],
)
def test_a_pattern_is_found_anywhere_as_search_finds_it(pattern: str, text: str):
    assert is_match(pattern, text) == (re.search(pattern, text) is not None)


def test_the_end_is_the_end_of_the_text_and_not_of_its_last_line():
    assert not is_match("^safe$", "safe\n")
    assert is_match("^safe$", "safe")


@pytest.mark.parametrize(
    "pattern",
    [r"(a)\1", r"(?P<x>a)(?P=x)", r"(?<x>a)\k<x>", "a(?=b)", "a(?!b)", "(?<=a)b", "(?<!a)b", "(?>a+)b", r"\\(?=a)"],
)
def test_what_needs_backtracking_is_refused_by_name(pattern: str):
    with pytest.raises(ValidationError, match="lookaround, backreferences and atomic groups are not supported"):
        require_pattern(pattern)
    with pytest.raises(ValidationError):
        is_match(pattern, "aa")


@pytest.mark.parametrize("pattern", ["(", "[a", "a{2,1}", "*a", "a**{", "\\", "(?P<x", "[z-a]"])
def test_what_is_no_pattern_is_refused(pattern: str):
    with pytest.raises(ValidationError, match="is not a regular expression"):
        require_pattern(pattern)


@pytest.mark.parametrize(
    "pattern", ["((a{1,100}){1,100}){1,100}", "a{1,100000}", r"\p{L}{500}", "(?:" * 500 + "a" + "){2}" * 500]
)
def test_a_pattern_that_would_grow_is_refused(pattern: str):
    with pytest.raises(ValidationError, match="too large"):
        require_pattern(pattern)


def test_a_very_long_pattern_is_refused_and_not_repeated_whole():
    with pytest.raises(ValidationError, match="use at most 4000") as refused:
        require_pattern("a" * 1_000_000)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|aa)+$", "(a|a?)+$", "(.*a){20}$", "(x+x+)+y", "^(([a-z])+.)+[A-Z]([a-z])+$", "(a*)*b"]
)
def test_what_drives_other_engines_mad_ends(pattern: str):
    # Backtracking, each would take longer than the universe has.
    is_match(pattern, "a" * 20_000 + "!")
    is_match(pattern, "x" * 20_000)


def test_half_a_surrogate_matches_as_the_sign_that_replaces_it():
    assert is_match("^.b$", "\ud800b")
    assert is_match("�", "\udfff")
    assert is_match("\ud800", "\udfff")
    assert is_match("😀", "\ud83d\ude00")


def test_importing_it_does_not_load_the_compiler():
    program = "import sys, pollux.engine.patterns; sys.exit('jsonschema_rs' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
