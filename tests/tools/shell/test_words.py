"""Literal words, held against the real bash."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pollux.tools.shell.parse import Simple, parse
from pollux.tools.shell.words import has_odd_characters, literal_words

BASH = shutil.which("bash") or ""
EXAMPLES = 2_000 if os.environ.get("POLLUX_HYPOTHESIS_PROFILE") == "soak" else 50

# Unknown commands print their argv, each word ended by NUL; \1 ends what one text has printed.
SHOW = r"""
command_not_found_handle() { printf '%s\0' "$@"; }
for text in "$@"; do eval "$text"; printf '\1'; done
"""


def words_by_bash(texts: list[str], where: Path) -> list[tuple[str, ...]]:
    # No PATH, so nothing but this printing can happen; a directory of its own, should a redirection slip through.
    environ = {"PATH": "/nonexistent", "HOME": "/home/somebody", "LC_ALL": "C.UTF-8", "x": "filled in"}
    done = subprocess.run(
        [BASH, "--norc", "-c", SHOW, "show", *texts],
        cwd=where,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    assert done.stderr == b""
    shown = done.stdout.decode().split("\1")[:-1]
    return [tuple(line.split("\0")[:-1]) for line in shown]


# One directory for all examples is meant: whatever lands in it is an error.
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]
PIECES = st.sampled_from(
    [
        *"abx01 \t'\"\\~!#^%@=+,.:;/{}[]()*?&|<>$`-",
        "\\\n",
        "\n",
        "..",
        "a b",
        '"',
        "'",
        "é",
        "{a,b}",
        "~x",
        "$x",
        '"$x"',
    ]
)
TEXTS = st.lists(PIECES, max_size=14).map(lambda pieces: "show " + "".join(pieces))
QUOTED = st.lists(
    st.sampled_from(["'a b'", '"c d"', "\\ ", '"\\$"', '"\\x"', "e", " ", "''", "~", "#", "!", "{f}"]), max_size=9
)


@pytest.mark.slow
@pytest.mark.skipif(not BASH, reason="bash is not installed (apt-get install bash)")
@settings(deadline=None, max_examples=EXAMPLES, suppress_health_check=QUIET)
@given(st.lists(TEXTS | QUOTED.map(lambda pieces: "show " + "".join(pieces)), min_size=20, max_size=60))
def test_where_words_are_literal_bash_hands_over_exactly_these(tmp_path: Path, texts: list[str]):
    read = [(text, words) for text in texts if not isinstance(words := literal_words(text), str)]
    assert words_by_bash([text for text, _ in read], tmp_path) == [words for _, words in read]
    assert not os.listdir(tmp_path)


@pytest.mark.skipif(not BASH, reason="bash is not installed (apt-get install bash)")
@settings(deadline=None, max_examples=EXAMPLES, suppress_health_check=QUIET)
@given(
    st.lists(st.lists(st.sampled_from([*"ab'\"\\ =%!~#{}.:@+-^,", "''", '""']), min_size=1, max_size=8), min_size=20)
)
def test_where_the_first_word_is_odd_too_bash_runs_exactly_what_is_simple(tmp_path: Path, texts: list[list[str]]):
    parsed = [(text, parse(text)) for pieces in texts for text in ["q" + "".join(pieces)]]
    simple = [(text, found.argv) for text, found in parsed if isinstance(found, Simple)]
    assert words_by_bash([text for text, _ in simple], tmp_path) == [argv for _, argv in simple]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ls", ("ls",)),
        ("  ls\t-l \n", ("ls", "-l")),
        ("a 'b c' \"d e\" f\\ g", ("a", "b c", "d e", "f g")),
        ("a 'b'\"c\"d\\e", ("a", "bcde")),
        ("a '' \"\"", ("a", "", "")),
        (r'a "\$ \` \" \\ \x"', ("a", '$ ` " \\ \\x')),
        ("a '$x `y` \\'", ("a", "$x `y` \\")),
        (r"a \$x \* \~ \# \;", ("a", "$x", "*", "~", "#", ";")),
        ("a 'two\nlines'", ("a", "two\nlines")),
        ('a "two\nlines"', ("a", "two\nlines")),
        ("git log HEAD~2 main^ @{u} stash@{0}", ("git", "log", "HEAD~2", "main^", "@{u}", "stash@{0}")),
        ("find . ! -name x {} +", ("find", ".", "!", "-name", "x", "{}", "+")),
        ("a b#c %d --e=f,g h:i ]", ("a", "b#c", "%d", "--e=f,g", "h:i", "]")),
        ("a 'x=~/y' 'b!'", ("a", "x=~/y", "b!")),
        ("'A=1' b", ("A=1", "b")),
        ("grüße Ärger", ("grüße", "Ärger")),
    ],
)
def test_quotes_are_resolved_as_bash_resolves_them(text: str, words: tuple[str, ...]):
    assert literal_words(text) == words


@pytest.mark.parametrize(
    ("text", "obstacle"),
    [
        ("", "there is no command"),
        (" \n\t", "there is no command"),
        ("a $x", "it holds a variable or a substitution"),
        ("a $'b'", "it holds a variable or a substitution"),
        ("a `b`", "it holds a substitution"),
        ("a | b", "it pipes one command into another"),
        ("a & b", "it runs several commands, or one in the background"),
        ("a; b", "it runs several commands"),
        ("a <b", "it redirects input"),
        ("a >b", "it redirects output"),
        ("(a)", "it holds a group, a function or a list"),
        ("a)", "it holds a group, a function or a list"),
        ("a *", "it holds an unquoted wildcard"),
        ("a b?", "it holds an unquoted wildcard"),
        ("a [b]", "it holds an unquoted wildcard"),
        ("a\nb", "it has more than one line"),
        ("a \\\nb", "it continues on another line"),
        ("a \\", "it continues on another line"),
        ("a 'b", "it holds a quote that is not closed"),
        ('a "b', "it holds an expansion in quotes, or a quote that is not closed"),
        ('a "$b"', "it holds an expansion in quotes, or a quote that is not closed"),
        ('a "`b`"', "it holds an expansion in quotes, or a quote that is not closed"),
        ('a "b\\\nc"', "it holds an expansion in quotes, or a quote that is not closed"),
        ("a # b", "it holds a comment"),
        ("#a", "it holds a comment"),
        ("a ~/b", "it holds a home directory to be filled in"),
        ("a b=~/c", "it holds a home directory to be filled in"),
        ("a b:~/c", "it holds a home directory to be filled in"),
        ("a !b", "it holds an unquoted exclamation mark"),
        ("! a", "it holds an unquoted exclamation mark"),
        ("a {b,c}", "it holds braces to be expanded"),
        ("a {1..3}", "it holds braces to be expanded"),
        ("a {b','c}", "it holds braces to be expanded"),
        ("A=1 b", "it sets a variable"),
        ("A+=1 b", "it sets a variable"),
        ("%1", "it names a job of the shell"),
        ("a\0b", "it holds control or invisible characters"),
        ("a\rb", "it holds control or invisible characters"),
        ("a \x1b[31m", "it holds control or invisible characters"),
        ("a\u00a0b", "it holds control or invisible characters"),
        ("a \u202eb", "it holds control or invisible characters"),
        ("a '\u200b'", "it holds control or invisible characters"),
        ("a \ud800", "it holds control or invisible characters"),
        ("a \u2028", "it holds control or invisible characters"),
        ("a \x7f", "it holds control or invisible characters"),
    ],
)
def test_what_bash_would_act_upon_is_an_obstacle(text: str, obstacle: str):
    assert literal_words(text) == obstacle


@pytest.mark.parametrize("text", ["plain", "tab\tand\nline", "grün\tund\nzeile", "日本語", "naïve ☃"])
def test_ordinary_writing_is_not_odd(text: str):
    assert not has_odd_characters(text)


@settings(deadline=None, max_examples=300)
@given(st.text())
def test_any_text_has_words_or_an_obstacle(text: str):
    assert literal_words(text)
