"""What the policy sees of a command, and what rules about prefixes look like."""

import shlex
from fnmatch import fnmatchcase

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pollux.core.errors import ValidationError
from pollux.core.policy import UNANALYSED, Mode
from pollux.tools.shell.judge import (
    COMPUTED,
    MAX_PREFIX_LENGTH,
    MAX_PREFIX_WORDS,
    MAX_WITHIN,
    prefix_patterns,
    subjects,
)


def fits(prefix: str, decision: Mode, subject: str) -> bool:
    return any(fnmatchcase(subject, pattern) for pattern in prefix_patterns(prefix, decision))


@pytest.mark.parametrize("command", ["git  log -3 'a b'", ["git", "log", "-3", "a b"]])
def test_a_plain_command_has_one_subject_however_it_is_written(command: str | list[str]):
    assert subjects(command) == {"run:git log -3 'a b'"}


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("/bin/rm x", {"run:/bin/rm x", "within:rm x"}),
        ("git --no-pager log", {"run:git --no-pager log", "within:git log"}),
        ("make 'a b'", {"indirect:(make 'a b')", "within:make 'a b'"}),
        ("git push 'a b' c", {"indirect:(git push) 'a b' c", "within:git push 'a b' c"}),
        ("env A=1 ls -l", {"indirect:(env A=1 ls) -l", "within:env A=1 ls -l", "within:ls -l"}),
        ("bash -c 'rm x;ls'", {"indirect:(bash -c 'rm x;ls')", "within:bash -c 'rm x;ls'", "within:rm x", "within:ls"}),
        ("cd a && rm x", {"script:cd a && rm x", "within:cd a", "within:rm x"}),
        (
            "echo $(sudo rm x)",
            {"script:echo $(sudo rm x)", "within:echo '$(sudo rm x)'", "within:sudo rm x", "within:rm x"},
        ),
        ("", {"script:"}),
        ([], {"script:"}),
        (["", "x"], {"script:'' x", "within:'' x"}),
        (["rm", "a\0b"], {"script:rm 'a\\x00b'", "within:rm 'a\\x00b'"}),
        (
            ["sh", "-c", "rm x | y"],
            {"indirect:(sh -c 'rm x | y')", "within:sh -c 'rm x | y'", "within:rm x", "within:y"},
        ),
        ("echo '(a) b'", {"run:echo '(a) b'"}),
    ],
)
def test_the_subjects_tell_the_whole_command_and_what_is_inside(command: str | list[str], found: set[str]):
    assert subjects(command) == found


def test_scripts_within_scripts_are_read_some_levels_deep():
    command = "rm x"
    for _ in range(4):
        assert "within:rm x" in subjects(f"ls; {command}")
        command = f"bash -c {shlex.quote(command)}"
    assert "within:rm x" not in subjects(f"ls; {command}")


def test_what_is_within_is_bounded():
    found = subjects(";".join(f"a{number} {'b' * 5_000}" for number in range(6)))
    assert (
        max(len(subject) for subject in found if subject.startswith("within:"))
        == len("within:") + 2 * MAX_PREFIX_LENGTH
    )
    many = subjects(";".join(f"/bin/a{number}" for number in range(MAX_WITHIN)))
    # The command itself, as many as are listed, and a word that there are more.
    assert len(many) == MAX_WITHIN + 2
    assert UNANALYSED in many
    assert f"within:{' '.join(['a'] * MAX_PREFIX_WORDS)}" in subjects("a " * 40 + "; b")


def test_a_text_that_cannot_be_stored_has_subjects_that_can():
    found = subjects("rm \ud800")
    assert found == {"script:rm \\ud800", "within:rm '\\ud800'"}


@settings(deadline=None, max_examples=300)
@given(st.text() | st.text("ab '\"$`(){}<>|&;\n\\=", max_size=60) | st.lists(st.text()))
def test_whatever_the_command_exactly_one_subject_tells_all_of_it(command: str | list[str]):
    found = subjects(command)
    "".join(found).encode()
    assert sum(subject.startswith(("run:", "indirect:", "script:")) for subject in found) == 1
    rest = found - {UNANALYSED, COMPUTED}
    assert all(subject.startswith(("run:", "indirect:", "script:", "within:")) for subject in rest)


def test_a_prefix_to_allow_covers_plain_commands_and_what_it_spells_out():
    assert prefix_patterns("python -m pytest", "allow") == (
        "run:python -m pytest",
        "run:python -m pytest *",
        "indirect:(python -m) pytest",
        "indirect:(python -m) pytest *",
        "indirect:(python -m pytest)",
        "indirect:(python -m pytest) *",
        "within:*",
        COMPUTED,
        "program:*",
    )
    assert prefix_patterns("ls", "allow") == ("run:ls", "run:ls *", "within:*", COMPUTED, "program:*")


@pytest.mark.parametrize("decision", ["deny", "require_approval"])
def test_a_prefix_to_forbid_covers_it_wherever_it_stands(decision: Mode):
    assert prefix_patterns("git push", decision) == (
        "run:git push",
        "run:git push *",
        "within:git push",
        "within:git push *",
        COMPUTED,
    )


@pytest.mark.parametrize(
    ("prefix", "command", "is_covered"),
    [
        ("git", "git status", True),
        ("git", "git", False),
        ("git", "gitk", False),
        ("git log", "git log --oneline", True),
        ("git log", "git logs", False),
        ("git log", "git -3 log", False),
        ("git 'log'", "git log", True),
        ("ls", "ls", True),
        ("ls", "./ls", False),
        ("ls", "/bin/ls", False),
        ("/bin/ls", "/bin/ls -l", True),
        ("./ls", "./ls", True),
        ("./ls", "./ls -l", False),
        ("./ls -l", "./ls -l", True),
        ("my-tool", "my-tool", False),
        ("my-tool", "my-tool x", False),
        ("my-tool x", "my-tool x", True),
        ("my-tool x", "my-tool x y", False),
        ("/opt/tools/lint", "/opt/tools/lint", False),
        ("pytest", "pytest", False),
        ("pytest", "pytest -q", False),
        ("pytest -q", "pytest -q tests", True),
        ("pytest -q", "pytest -q -p evil", False),
        (".venv/bin/pytest", ".venv/bin/pytest -q tests", True),
        (".venv/bin/pylint", ".venv/bin/pylint --init-hook=x", False),
        ("echo '*'", "echo '*' b", True),
        ("echo '*'", "echo abc", False),
        ("echo '[a]?'", "echo '[a]?'", True),
        ("echo '[a]?'", "echo a?", False),
        ("echo", "echo 'a\nb'", True),
        ("echo a", "echo 'a b'", False),
        ("echo 'a b'", "echo 'a b' c", True),
        ("echo grün", "echo grün", True),
        ("echo gru\u0308n", "echo grün", True),
        ("python", "python --version", True),
        ("python", "python", False),
        ("python", "python a.py", False),
        ("python a.py", "python a.py b", True),
        ("python -m pytest", "python -m pytest -q tests", True),
        ("python -m pytest", "python -m pytest -p evil", False),
        ("python -m pytest -q", "python -m pytest -q tests", True),
        ("python -m pytest -q", "python -m pytest tests", False),
        ("python -m pytest", "python -m pytests", False),
        ("make test", "make test", True),
        ("make test", "make test SHELL=sh", False),
        ("find", "find . -name x", True),
        ("find", "find . -delete", False),
        ("find . -delete", "find . -delete", True),
        ("find . -delete", "find . -delete -exec sh ';'", False),
        ("env A=1 ls", "env A=1 ls -l", True),
        ("env A=1", "env A=1 ls", False),
        ("npm test", "npm test -- -g 'a b'", True),
        ("npm test", "npm test --script-shell=sh", False),
        ("git push", "git push origin main", True),
        ("git push", "git push --receive-pack=sh", False),
        ("'(a)' b", "'(a)' b", True),
    ],
)
def test_a_prefix_covers_what_begins_with_its_words(prefix: str, command: str, is_covered: bool):
    patterns = prefix_patterns(prefix, "allow")
    assert (
        all(any(fnmatchcase(subject, pattern) for pattern in patterns) for subject in subjects(command)) == is_covered
    )


@pytest.mark.parametrize("prefix", ["", "git *", "ls; rm", "a | b", "$x", "a\0", "ls # x", "A=1 ls", "a\nb", "'a"])
@pytest.mark.parametrize("decision", ["allow", "deny", "require_approval"])
def test_a_prefix_must_be_plain_words(prefix: str, decision: Mode):
    with pytest.raises(ValidationError, match=r"expected a command prefix of plain words such as 'git log', found "):
        prefix_patterns(prefix, decision)


@pytest.mark.parametrize("prefix", ["cd", "eval x", "source a", "time ls"])
def test_words_of_the_shell_can_be_forbidden_but_not_allowed(prefix: str):
    assert fits(prefix, "deny", f"within:{prefix} y")
    with pytest.raises(ValidationError, match="is a word of the shell, not a program"):
        prefix_patterns(prefix, "allow")


def test_a_prefix_has_an_end():
    assert prefix_patterns("a " * MAX_PREFIX_WORDS, "deny")
    assert prefix_patterns("a" * MAX_PREFIX_LENGTH, "deny")
    with pytest.raises(ValidationError, match="at most 16 words and 500 characters, found 17 words and 33 characters"):
        prefix_patterns("a " * (MAX_PREFIX_WORDS + 1), "deny")
    with pytest.raises(ValidationError, match="found 1 words and 501 characters"):
        prefix_patterns("a" * (MAX_PREFIX_LENGTH + 1), "allow")


WORDS = st.lists(st.text("ab*?[]!()' \"\\\n-", max_size=3) | st.sampled_from(["a", "b", "", "é"]), max_size=3)


@settings(deadline=None, max_examples=500)
@given(WORDS, WORDS, st.booleans())
@example(["[!a]"], ["b"], False)
def test_for_plain_commands_a_prefix_fits_exactly_where_the_words_begin_alike(
    more: list[str], other: list[str], same: bool
):
    argv = ["echo", *(more if same else []), *other]
    prefix = ["echo", *more]
    expected = argv[: len(prefix)] == prefix
    (subject,) = subjects(argv)
    assert fits(shlex.join(prefix), "deny", subject) == expected
