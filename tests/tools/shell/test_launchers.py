"""Which commands reach beyond themselves, and how many of their words say how far."""

import shlex
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollux.tools.shell import programs
from pollux.tools.shell.launchers import indirect, inside, program, reach


def brackets(command: str) -> str:
    """The words that decide what a command reaches; nothing if it does what its name says."""
    argv = tuple(shlex.split(command))
    found = reach(argv)
    return shlex.join(argv[: found.words]) if found else ""


@pytest.mark.parametrize(
    "command",
    [
        "ls -la",
        "cat a b",
        "grep -rn x src",
        "find . -name x -type f -print0",
        "fd -e py",
        "rg -n x",
        "sort -u -k2 a",
        "uniq -c a",
        "tar tf a.tar",
        "tar -tvzf a.tgz",
        "tar --list --file a.tar",
        "tree -L 2",
        "file a",
        "date +%s",
        "date -Iseconds",
        "git log --oneline -3",
        "git --no-pager diff HEAD~1",
        "git show --stat",
        "git grep -n x",
        "docker ps -a",
        "kubectl get pods -o wide",
        "pip list",
        "ruff check src --output-format=full",
        "xxd a",
        "python --version",
        "node --version",
        "/usr/bin/ls -la",
        "awk '{print $1}' a",
        "sed -n 1,5p a",
        "mkdir a",
        "rm a",
        "sort -",
    ],
)
def test_these_do_what_their_name_says(command: str):
    assert brackets(command) == ""
    assert indirect(shlex.split(command)) is None


@pytest.mark.parametrize(
    ("command", "deciding"),
    [
        # All of it.
        ("make test", "make test"),
        ("cp a b", "cp a b"),
        ("/usr/bin/tee a", "/usr/bin/tee a"),
        ("curl https://example.com", "curl https://example.com"),
        ("find . -delete", "find . -delete"),
        ("find . -exec rm '{}' +", "find . -exec rm '{}' +"),
        ("fd -x rm", "fd -x rm"),
        ("fdfind a --exec-b rm", "fdfind a --exec-b rm"),
        ("sort -uo a b", "sort -uo a b"),
        ("sort --outp=a b", "sort --outp=a b"),
        ("uniq a b", "uniq a b"),
        ("date -us 0", "date -us 0"),
        ("tox exec -- sh", "tox exec -- sh"),
        ("hostname x", "hostname x"),
        ("tar xf a.tar", "tar xf a.tar"),
        ("tar tIf sh a", "tar tIf sh a"),
        ("tar -tf host:a", "tar -tf host:a"),
        ("tar t --to-c=sh", "tar t --to-c=sh"),
        ("git -c a=b log", "git -c a=b log"),
        ("git log --output=a", "git log --output=a"),
        ("git diff --ext-d", "git diff --ext-d"),
        ("git fetch ext::sh", "git fetch ext::sh"),
        ("git bisect run sh", "git bisect run sh"),
        ("git", "git"),
        ("go test -exec sh", "go test -exec sh"),
        ("go test --exec=sh", "go test --exec=sh"),
        ("unknown-tool --exec x", "unknown-tool --exec x"),
        ("unknown-tool --version", "unknown-tool --version"),
        ("python -m unknown x", "python -m unknown x"),
        ("./ls -l a", "./ls -l a"),
        ("/work/bin/git status -s", "/work/bin/git status -s"),
        ("LS -l a", "LS -l a"),
        ("ls2 -l a", "ls2 -l a"),
        ("tar tf a.tar -T list", "tar tf a.tar -T list"),
        ("env -u A ls -l", "env -u A ls -l"),
        ("uv run --with x pytest -q", "uv run --with x pytest -q"),
        ("pytest -p evil", "pytest -p evil"),
        ("pytest @args", "pytest @args"),
        ("pytest --pdbcls=a:b", "pytest --pdbcls=a:b"),
        ("docker run alpine", "docker run alpine"),
        ("ssh host ls", "ssh host ls"),
        ("xargs rm", "xargs rm"),
        ("python", "python"),
        ("python -c 'x'", "python -c x"),
        ("python -", "python -"),
        ("python -m", "python -m"),
        ("python -m timeit x", "python -m timeit x"),
        ("python -m pip install x", "python -m pip install x"),
        ("perl -we 1", "perl -we 1"),
        ("bash -c 'x' y", "bash -c x y"),
        ("node -r x y.js", "node -r x y.js"),
        ("env", "env"),
        ("env A=1", "env A=1"),
        ("awk 'BEGIN{system(1)}'", "awk 'BEGIN{system(1)}'"),
        ("gawk -f a", "gawk -f a"),
        ("sed -i s/a/b/ c", "sed -i s/a/b/ c"),
        ("npm install -- x", "npm install -- x"),
        ("npm run -- x", "npm run -- x"),
        ("npm --prefix x test -- y", "npm --prefix x test -- y"),
        ("npm", "npm"),
        # The first words of it.
        ("git push origin main", "git push"),
        ("git --no-pager commit -m x", "git --no-pager commit"),
        ("cargo test --all", "cargo test"),
        ("go test ./...", "go test"),
        ("go list ./...", "go list"),
        ("pytest -q --cov=src tests/a.py", "pytest -q"),
        ("pytest", "pytest"),
        ("mypy src a", "mypy src"),
        (".venv/bin/pytest -q tests", ".venv/bin/pytest"),
        ("env A=1 pytest -q tests", "env A=1 pytest"),
        ("systemctl status nginx", "systemctl status"),
        ("python -m pytest -q tests", "python -m pytest"),
        ("python3.12 -B -m pytest -q", "python3.12 -B -m pytest"),
        ("python -m pytest -p evil", "python -m pytest -p evil"),
        ("python -m unittest discover", "python -m unittest"),
        ("python a.py b c", "python a.py"),
        ("pypy3 -m pytest -q", "pypy3 -m pytest"),
        ("lua -m x", "lua -m x"),
        ("python -u a.py b", "python -u a.py"),
        ("bash -e a.sh b", "bash -e a.sh"),
        ("node a.js b", "node a.js"),
        ("npm test", "npm test"),
        ("npm test -- -g x", "npm test"),
        ("npm run build -- --watch", "npm run build"),
        ("npm run build --evil -- x", "npm run build --evil"),
        ("uv run pytest -q", "uv run pytest"),
        ("npx eslint src", "npx eslint"),
        ("npx eslint -c x src", "npx eslint -c x src"),
        ("env A=1 B=2 ls -l", "env A=1 B=2 ls"),
        ("env -- ls -l", "env -- ls"),
        ("env find . -delete", "env find . -delete"),
        ("timeout 5 ls -l", "timeout 5 ls"),
        ("timeout -k 3 5 ls -l", "timeout -k 3 5 ls"),
        ("timeout --signal=KILL 5 ls a b", "timeout --signal=KILL 5 ls"),
        ("sudo git push origin", "sudo git push"),
        ("nice -n 5 nohup env A=1 ls -l a", "nice -n 5 nohup env A=1 ls"),
        ("busybox ls -l", "busybox ls"),
        ("busybox sh -c x", "busybox sh -c x"),
    ],
)
def test_these_words_decide_what_is_reached(command: str, deciding: str):
    assert brackets(command) == deciding
    assert indirect(shlex.split(command))


def test_a_wrapper_in_too_many_others_is_to_be_spelled_out():
    assert brackets("env env env ls -l") == "env env env ls"
    assert brackets("env env env env env env env ls -l") == "env env env env env env env ls -l"


@pytest.mark.parametrize("words", ["env ", "python -m ", "sudo -u ", "npx uv run ", "bash -c "])
def test_no_depth_is_too_deep(words: str):
    argv = tuple((words * 3_000).split())
    found = reach(argv)
    assert found is not None and found.words == len(argv)
    assert sum(1 for _ in islice(inside(argv), 1_000)) <= 1_000


def test_a_wrapper_whose_command_may_begin_anywhere_is_to_be_spelled_out():
    assert brackets("sudo -a -b -c ls ls ls ls h") == "sudo -a -b -c ls ls ls ls"
    assert brackets("sudo -a -b -c -d ls ls ls ls ls i j") == "sudo -a -b -c -d ls ls ls ls ls i j"
    assert brackets("sudo -a d ls -l") == "sudo -a d ls -l"


@pytest.mark.parametrize("argv", [(), ("",), ("/",), ("bin/",)])
def test_what_names_no_program_is_to_be_spelled_out(argv: tuple[str, ...]):
    found = reach(argv)
    assert found is not None and found.words == len(argv)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("ls", "ls"),
        ("/bin/ls", "ls"),
        ("./x/LS", "ls"),
        ("python3", "python"),
        ("python3.12", "python"),
        ("/opt/PYTHON3", "python"),
        ("vim.basic", "vim"),
        ("gcc-12", "gcc"),
        ("bash.exe", "bash"),
        ("gawk", "awk"),
        ("nodejs", "node"),
        ("sqlite3", "sqlite3"),
        ("base64", "base64"),
        ("7z", "7z"),
        ("tool2", "tool2"),
        ("mawk-1.3", "awk"),
    ],
)
def test_programs_are_known_without_directory_and_version(name: str, known: str):
    assert program((name, "x")) == known


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("/bin/rm x", ["rm x"]),
        ("python3 a.py", ["python a.py"]),
        ("sudo -n rm x", ["rm x", "x"]),
        ("env A=1 /bin/rm x", ["/bin/rm x", "rm x"]),
        ("timeout 5 rm x y", ["5 rm x y", "rm x y"]),
        ("find . -exec rm a ';' -ok mv b ';'", ["rm a ';' -ok mv b ';'", "mv b ';'"]),
        ("python -m pip install x", ["pip install x"]),
        ("git -C a push", ["git a push", "git push"]),
        ("git push", []),
        ("ls x", []),
        ("docker exec box rm x", ["box rm x", "rm x"]),
        ("env", []),
        ("find . -exec", []),
    ],
)
def test_the_commands_inside_a_command_are_seen(command: str, found: list[str]):
    seen = inside(tuple(shlex.split(command)))
    assert [shlex.join(inner) for inner in seen if isinstance(inner, tuple)] == found


@pytest.mark.parametrize(
    ("command", "texts"),
    [
        ("bash -c 'rm x' y", ["rm x", "y"]),
        ("watch 'rm x'", ["rm x"]),
        ("env -S 'rm x' rm", ["rm x"]),
        ("sudo bash -c reboot", ["reboot"]),
        ("git commit -m 'rm x'", []),
    ],
)
def test_the_scripts_inside_a_command_are_seen(command: str, texts: list[str]):
    assert [inner for inner in inside(tuple(shlex.split(command))) if isinstance(inner, str)] == texts


def test_no_program_stands_in_two_tables():
    tables = [
        programs.PLAIN,
        programs.PROJECT,
        programs.ALWAYS,
        programs.INTERPRETERS,
        programs.RUNNERS,
        programs.SUBCOMMANDS,
        programs.WRAPPERS,
        programs.RELAYS,
        programs.ALIASES,
        {"awk", "sed"},
    ]
    names = [name for table in tables for name in table]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []
    assert all(name == name.casefold() for name in names)


def test_options_are_known_of_programs_that_do_something_without_them():
    assert set(programs.OPTIONS) <= programs.PLAIN | programs.PROJECT


def test_what_an_alias_stands_for_is_known():
    assert {program((name,)) for name in programs.ALIASES} == set(programs.ALIASES.values())


ODD = "env sudo -u x find -exec git -- npm run python -m A=1".split()
COMMON = "env sudo nice -n 5 ls git push python -m pytest a.py npm test".split()


@settings(deadline=None, max_examples=300)
@given(st.lists(st.sampled_from([*ODD, ""])))
def test_no_words_make_it_raise_and_the_deciding_words_are_some_of_them(words: list[str]):
    argv = tuple(words)
    found = reach(argv)
    assert found is None or 0 <= found.words <= len(argv)
    assert all(inner is None or inner for inner in inside(argv))


@settings(deadline=None, max_examples=300)
@given(st.lists(st.sampled_from(COMMON), min_size=1), st.lists(st.text("abc/._", min_size=1)))
def test_plain_words_at_the_end_never_shorten_what_must_be_spelled_out(words: list[str], more: list[str]):
    # Otherwise leave for a long command would cover a longer one that reaches elsewhere.
    before, after = reach(tuple(words)), reach((*words, *more))
    if before is not None and before.words < len(words):
        assert after is not None and after.words >= before.words
