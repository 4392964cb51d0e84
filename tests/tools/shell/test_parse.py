"""What a line of shell says."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pollux.tools.shell.parse import MAX_BYTES, MAX_COMMANDS, MAX_SPECIALS, Compound, Simple, parse
from pollux.tools.shell.words import literal_words


def reason_of(text: str) -> str:
    parsed = parse(text)
    assert isinstance(parsed, Compound)
    return parsed.reason


def seen_in(text: str) -> tuple[tuple[str, ...], ...]:
    parsed = parse(text)
    assert isinstance(parsed, Compound)
    return parsed.commands


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        ("git commit -m 'two\nlines'", ("git", "commit", "-m", "two\nlines")),
        ("'ls' \"-l\"", ("ls", "-l")),
        ("\\ls", ("ls",)),
        ("test 1 -eq 2", ("test", "1", "-eq", "2")),
        ("echo a=b", ("echo", "a=b")),
        ("./run --all", ("./run", "--all")),
        ("awk '{print $1}' notes.txt", ("awk", "{print $1}", "notes.txt")),
        ("echo if then", ("echo", "if", "then")),
    ],
)
def test_one_command_of_literal_words_is_simple(text: str, argv: tuple[str, ...]):
    assert parse(text) == Simple(argv)


@pytest.mark.parametrize(
    "word", ["cd", ".", ":", "eval", "exec", "source", "time", "if", "export", "[[", "{", "'eval'"]
)
def test_a_word_of_the_shell_is_no_program(word: str):
    assert "a word of the shell" in reason_of(f"{word} x") or "wildcard" in reason_of(f"{word} x")


def test_an_empty_name_is_no_program():
    assert reason_of("'' x") == "'' is a word of the shell, not a program"


@pytest.mark.parametrize("text", ["echo a == b", "{}", "{}#", "\\ #", "- if=", "}\\;"])
def test_what_the_grammar_reads_otherwise_is_not_simple(text: str):
    # The words are literal, but the grammar sees a comparison, a group, a comment: where two differ, none is believed.
    assert not isinstance(literal_words(text), str)
    assert reason_of(text) == "it cannot be read with certainty"


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("a && b || c", [("a",), ("b",), ("c",)]),
        ("a | b & c; d", [("a",), ("b",), ("c",), ("d",)]),
        ("a $(b c) `d`", [("a", "$(b c)", "`d`"), ("b", "c"), ("d",)]),
        ('a "$(b)"', [("a", '"$(b)"'), ("b",)]),
        ("cat <(b c) >(d)", [("cat", "<(b c)", ">(d)"), ("b", "c"), ("d",)]),
        ("for i in 1 2; do rm $i; done", [("rm", "$i")]),
        ("if a; then b; else c; fi", [("a",), ("b",), ("c",)]),
        ("while a; do b; done", [("a",), ("b",)]),
        ("case x in y) a;; esac", [("a",)]),
        ("f() { rm 'a b'; }; f", [("rm", "a b"), ("f",)]),
        ("(a; { b; })", [("a",), ("b",)]),
        ("A=1 B=2 rm x > y 2>&1", [("rm", "x")]),
        ("! rm x", [("rm", "x")]),
        ("export A=1", [("export", "A=1")]),
        ("unset A", [("unset", "A")]),
        ("[[ -f  x ]] && a", [("[[", "-f x", "]]"), ("a",)]),
        ("r\\\nm x", [("rm", "x"), ("r", "m", "x")]),
        ("'r'\"m\" \\x; y", [("rm", "x"), ("y",)]),
        ("$cmd x", [("$cmd", "x")]),
        ("rm x # y", [("rm", "x")]),
        ("cat <<E\n$(rm x)\nE", [("cat",), ("rm", "x")]),
        ("cat <<< 'a b' x", [("cat", "x")]),
        ("git <<E push x\na\nE", [("git", "push", "x"), ("git",)]),
        ("git <<E >f push\nE", [("git", "push"), ("git",)]),
        ("a && git -C b 2>&1 >f push 'c d'", [("git", "-C", "b", "push", "c d"), ("a",), ("git", "-C", "b")]),
        ("(a) > f b", [("a", "b"), ("a",)]),
        ("grüße 'ä ö' $(rm ü)\0; é", [("grüße", "ä ö", "$(rm ü)\0"), ("rm", "ü"), ("é",)]),
    ],
)
def test_the_commands_in_a_compound_are_seen(text: str, commands: list[tuple[str, ...]]):
    assert list(seen_in(text)) == commands


@pytest.mark.parametrize(
    "before", ["", "then", "do", "else", "elif", "if", "while", "until", "!", "time", "if  !", "A=1 B+=$x"]
)
def test_commands_are_seen_behind_the_words_before_them_also_without_the_grammar(before: str):
    assert ("rm", "a b") in seen_in(f"{before} 'r'm 'a b';" + "a|" * MAX_SPECIALS)


@pytest.mark.parametrize("text", ["rm x\n)))", "if true; then rm x", "{ rm x", "rm x <<E", "echo `rm x", "time rm x )"])
def test_commands_are_seen_also_where_the_grammar_fails(text: str):
    assert ("rm", "x") in seen_in(text)


def test_a_text_beyond_the_bound_is_not_simple_and_still_looked_at():
    fits = "echo " + "a" * (MAX_BYTES - 5)
    assert parse(fits) == Simple(("echo", "a" * (MAX_BYTES - 5)))
    assert reason_of(fits + "a") == "it is longer than 32,768 bytes"
    assert ("rm", "x") in seen_in("rm x; " + fits)


def test_the_bound_is_in_bytes():
    assert (MAX_BYTES, MAX_SPECIALS, MAX_COMMANDS) == (32_768, 1_000, 256)
    assert reason_of("echo " + "é" * (MAX_BYTES // 2)) == "it is longer than 32,768 bytes"


def test_a_text_of_many_specials_is_not_simple_and_still_looked_at():
    assert isinstance(parse(f"echo '{'*' * (MAX_SPECIALS - 2)}'"), Simple)
    assert reason_of(f"echo '{'*' * (MAX_SPECIALS - 1)}'") == "it cannot be read with certainty"
    assert ("rm", "$x") in seen_in("rm $x;" + "a|" * MAX_SPECIALS)


def test_of_very_many_commands_the_first_are_listed():
    assert seen_in("a;" * 400) == (("a",),) * MAX_COMMANDS
    assert len(seen_in("a|" * 5_000)) == MAX_COMMANDS


SPECIALS = "'\"$`(){}[]<>|&;\n\\#~!=*? \t"


@settings(deadline=None, max_examples=500)
@given(st.text() | st.text(SPECIALS + "abc", max_size=300))
@example("\ud800")
@example("\0" * 20_000)
@example("{\U000eb8ae")
def test_no_text_makes_it_raise(text: str):
    assert isinstance(parse(text), Simple | Compound)


OPENERS = ["(", "$(", '"$(', "`", "<<a ", "cat <<a\n", "{ ", "$((", "${a:-", "case x in ", "if a;then ", "[[", "f(){ "]
OTHERS = ["a=(", "a ", "a|", "a;", "'", "\\", "((a?", "\0", "?x", "coproc?", "\ud800y", "!(", "é", "=~", "\n", "case?"]


@pytest.mark.parametrize("piece", [*OPENERS, *OTHERS])
def test_no_repetition_makes_it_slow(piece: str):
    began = time.process_time()
    parse((piece * MAX_BYTES)[:MAX_BYTES])
    assert time.process_time() - began < 5


def test_threads_may_parse_at_once():
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(parse, [f"echo {number}" for number in range(400)]))
    assert found == [Simple(("echo", str(number))) for number in range(400)]


def test_the_grammar_is_loaded_when_it_is_needed_and_not_before():
    code = "import sys, pollux.tools.shell.judge; sys.exit('tree_sitter' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
