"""awk and sed: which of their programs only print, replace and count."""

import pytest

from pollux.tools.shell.filters import is_plain_awk, is_plain_sed


@pytest.mark.parametrize(
    "words",
    [
        ("{print $1}", "a"),
        ("-F:", "{print $1}", "a"),
        ("-F", "|", "{print $1}"),
        ("-v", "n=3", "NR==n", "a"),
        ("-vn=3", "NR==n"),
        ("END{print NR}",),
    ],
)
def test_an_awk_program_that_prints_is_plain(words: tuple[str, ...]):
    assert is_plain_awk(words)


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("-F",),
        ("-f", "a"),
        ("-F:", "-f", "a"),
        ("--file=a",),
        ("-i", "inplace", "{print}", "a"),
        ("-E", "a"),
        ("--", "{print}"),
        ('BEGIN{system("sh")}',),
        ('BEGIN{"id"|getline}',),
        ('{print|"sh"}',),
        ('{print>"a"}',),
        ('{print>>"a"}',),
        ('BEGIN{getline x<"a"}',),
        ('@load "filefuncs"',),
        ("BEGIN{f=1;@f()}",),
        ("{print}", "/inet/tcp/0/example.com/80"),
        ("-F", "x", "BEGIN{system(1)}"),
    ],
)
def test_an_awk_program_that_starts_writes_or_loads_something_is_not(words: tuple[str, ...]):
    assert not is_plain_awk(words)


@pytest.mark.parametrize(
    "words",
    [
        ("p", "a"),
        ("-n", "1,5p", "a"),
        ("-n", "$p"),
        ("10q", "a"),
        ("/x/d", "a"),
        ("/a/,/b/p",),
        ("/a/,+3p",),
        ("$!d",),
        ("s/a/b/", "x"),
        ("s/a\\/b/c/gI2", "x"),
        ("s|/usr|/opt|g", "x"),
        ("s#a#b#;s,c,d,; s:e:f:p", "x"),
        ("s/[a-z]*/[&]/", "x"),
        ("s/[^0-9]//g", "x"),
        ("-E", "s/(a)+/\\1/", "x"),
        ("-e", "p", "-e", "d", "x"),
        ("--quiet", "--expression", "p", "x"),
        ("=", "x"),
    ],
)
def test_a_sed_script_that_prints_or_replaces_is_plain(words: tuple[str, ...]):
    assert is_plain_sed(words)


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("-n",),
        ("-e",),
        ("-ne", "p"),
        ("-i", "p", "a"),
        ("-ni", "p", "a"),
        ("-i.bak", "p", "a"),
        ("--in-place", "p", "a"),
        ("p", "a", "-i"),
        ("-f", "a"),
        ("-n", "--file=a"),
        ("-s", "-fa"),
        ("e", "a"),
        ("1e id", "a"),
        ("s/a/b/e", "x"),
        ("s/a/b/ge", "x"),
        ("s/a/b/w out", "x"),
        ("w out", "x"),
        ("1!w out", "x"),
        ("p;w out", "x"),
        ("p\nw out", "x"),
        ("r /etc/passwd", "x"),
        ("{p;w out\n}", "x"),
        ("y/a/b/", "x"),
        ("-e", "p", "-e", "w out", "x"),
        ("p", "-e", "w out"),
        ("s/[/]/p;s/e;s/x/", "x"),
        ("s/[]/]/p;s/e;s/x/", "x"),
        ("s/[^]/]/p;s/e;s/x/", "x"),
        ("/[/]/p;s/e;s/x/", "x"),
        ("s/a/b", "x"),
        ("s/a\nb/c/", "x"),
        ("s.a.b.e", "x"),
        ("sea", "x"),
        ("--", "p"),
    ],
)
def test_a_sed_script_that_writes_runs_or_cannot_be_read_is_not(words: tuple[str, ...]):
    assert not is_plain_sed(words)
