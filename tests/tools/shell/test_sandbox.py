"""The sandbox: what is inside, what is not, and that nothing runs outside by mistake."""

import os
import socket
import stat
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.tools.shell.boxes import require_bubblewrap
from tests.tools.shell.living import living, new_mark
from tests.waiting import until

from pollux.core.errors import ValidationError
from pollux.tools.shell.process import ShellResult
from pollux.tools.shell.sandbox import Box, Sandbox, find_bubblewrap, run_boxed, wrap

PATH = os.environ["PATH"]
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


@pytest.fixture
async def bubblewrap() -> None:
    await require_bubblewrap()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a secret, a tool and a folder for work."""
    home = tmp_path / "home"
    for name in (".ssh/id_ed25519", ".config/app/token", ".netrc", ".local/bin/tool", "work/notes"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("#!/bin/sh\necho canary\n")
    (home / ".local/bin/tool").chmod(stat.S_IRWXU)
    return home


async def run(*argv: str, box: Box, sandbox: Sandbox = "required", **options: Any) -> ShellResult:
    env = {"PATH": PATH, "HOME": str(box.home), "TMPDIR": "/elsewhere"}
    settings: dict[str, Any] = {"cwd": box.root, "env": env, "timeout": 20, "output_limit": 10_000}
    return await run_boxed(argv, sandbox=sandbox, box=box, **(settings | options))


async def sh(text: str, **options: Any) -> ShellResult:
    return await run("sh", "-c", text, **options)


@pytest.mark.usefixtures("bubblewrap")
class TestInside:
    async def test_the_root_is_writable_and_the_system_is_not(self, home: Path):
        box = Box(home / "work", home=home)
        result = await sh("cat notes; echo new > new; echo bad > /usr/bad; echo bad > /bad", box=box)
        assert result.stdout == "#!/bin/sh\necho canary\n"
        assert (home / "work/new").read_text() == "new\n"
        assert result.stderr.count("Read-only file system") == 2

    async def test_a_root_for_reading_is_read_only(self, home: Path):
        assert "Read-only" in (await sh("echo x > new", box=Box(home / "work", writable=False, home=home))).stderr

    async def test_home_is_empty_private_and_forgotten(self, home: Path):
        box = Box(home / "work", home=home)
        result = await sh("cat ~/.ssh/id_ed25519 ~/.netrc; ls -A ~; echo x > ~/x && cat ~/x", box=box)
        assert result.stdout == ".local\nwork\nx\n"
        assert "canary" not in result.stdout + result.stderr
        assert not (home / "x").exists()

    async def test_tool_chains_at_home_work_and_cannot_be_changed(self, home: Path):
        result = await sh("~/.local/bin/tool; echo bad > ~/.local/bin/tool", box=Box(home / "work", home=home))
        assert result.stdout == "canary\n" and "Read-only" in result.stderr

    async def test_a_home_that_is_the_root_shows_its_files_without_its_secrets(self, home: Path):
        (home / "file").write_text("seen")
        text = "cat file; cat .ssh/id_ed25519 .config/app/token .netrc; ls -A .ssh .config"
        result = await sh(text, box=Box(home, home=home))
        assert result.stdout.startswith("seen") and "canary" not in result.stdout

    async def test_the_temporary_folder_is_private_and_named(self, home: Path, tmp_path: Path):
        result = await sh("echo $TMPDIR; ls -A /tmp; echo x > /tmp/x && cat /tmp/x", box=Box(home / "work", home=home))
        assert result.stdout.splitlines() == ["/tmp", *[tmp_path.parts[2]] * tmp_path.is_relative_to("/tmp"), "x"]

    @pytest.mark.parametrize("place", "/var/lib /sys /run/lock /etc/shadow /etc/ssh /proc/1/root/var/lib".split())
    async def test_places_with_other_people_s_things_are_not_there(self, home: Path, place: str):
        assert (await run("ls", place, box=Box(home / "work", home=home))).exit_code != 0

    async def test_hidden_places_cannot_be_read_or_written(self, home: Path):
        work = home / "work"
        (work / "store").mkdir()
        (work / "store/db").write_text("canary")
        box = Box(work, home=home, hidden=(work / "store", work / "notes", work / "not there"))
        result = await sh("cat store/db notes; echo x > notes; echo x > store/db", box=box)
        assert "canary" not in result.stdout
        assert (work / "store/db").read_text() == "canary"
        assert (work / "notes").read_text() == "#!/bin/sh\necho canary\n"

    async def test_readable_places_may_lie_inside_the_root_or_outside(self, home: Path):
        work, other = home / "work", home / "other"
        for place in (work / "hooks", other):
            place.mkdir()
            (place / "it").write_text("it")
        box = Box(work, home=home, readable=(work / "hooks", other))
        result = await sh(f"cat hooks/it '{other}/it'; echo x > hooks/it; echo x > '{other}/it'", box=box)
        assert result.stdout == "itit" and result.stderr.count("Read-only") == 2

    async def test_further_places_may_be_writable(self, home: Path):
        (home / "cache").mkdir()
        box = Box(home / "work", home=home, also_writable=(home / "cache",))
        assert (await sh(f"echo x > '{home}/cache/x'", box=box)).exit_code == 0
        assert (home / "cache/x").exists()

    async def test_a_link_out_of_the_root_leads_nowhere(self, home: Path):
        (home / "work/link").symlink_to(home / ".ssh")
        assert "canary" not in (await sh("cat link/id_ed25519", box=Box(home / "work", home=home))).stdout

    async def test_the_machine_s_settings_cannot_be_changed_not_even_by_root(self, home: Path):
        name = Path("/proc/sys/kernel/hostname").read_text()
        text = "mount -o remount,rw /proc && echo remounted; echo other > /proc/sys/kernel/hostname"
        result = await sh(text, box=Box(home, home=home))
        assert result.stdout == "" and "Read-only file system" in result.stderr
        assert Path("/proc/sys/kernel/hostname").read_text() == name

    async def test_no_rights_are_left(self, home: Path):
        result = await run("grep", "-E", "^(CapEff|CapPrm|NoNewPrivs)", "/proc/self/status", box=Box(home, home=home))
        assert result.stdout.split() == ["CapPrm:", "0" * 16, "CapEff:", "0" * 16, "NoNewPrivs:", "1"]

    async def test_other_processes_cannot_be_seen(self, home: Path):
        result = await sh("ls /proc | grep -c '^[0-9]'; kill -0 " + str(os.getpid()), box=Box(home, home=home))
        assert int(result.stdout) < 10 and result.exit_code != 0

    @pytest.mark.parametrize("network", [False, True])
    async def test_there_is_no_network_unless_it_is_asked_for(self, home: Path, network: bool):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            text = f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected"
            result = await run("bash", "-c", text, box=Box(home, home=home, network=network))
        assert (result.stdout == "connected\n") == network

    async def test_a_developer_s_commands_work(self, home: Path):
        text = "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log --oneline"
        result = await sh(f"{text} && python3 -c 'print(40 + 2)'", box=Box(home / "work", home=home), env={
            "PATH": SYSTEM_PATH, "HOME": str(home),
        })  # fmt: skip
        assert result.exit_code == 0, result.stderr
        assert result.stdout.endswith("42\n")


@pytest.mark.usefixtures("bubblewrap")
class TestEnding:
    async def test_ends_are_told_as_without_a_sandbox(self, home: Path):
        box = Box(home / "work", home=home)
        assert (await sh("exit 1", box=box)) == ShellResult(1, "", "")
        assert (await sh("echo 'bwrap: no' >&2; exit 1", box=box)) == ShellResult(1, "", "bwrap: no\n")
        assert (await sh("kill -9 $$", box=box)).exit_code == 137
        assert (await run("no-such-program", box=box)).exit_code == 127
        assert (await run("./notes", box=box)) == ShellResult(126, "", "./notes: cannot be run (Permission denied)\n")
        assert (await run("true", box=box, cwd=home / "work/gone")).exit_code == 126
        assert (await run("cat", box=box, stdin=b"given")).stdout == "given"

    async def test_who_is_stopped_may_tidy_up_first(self, home: Path):
        text = "trap 'sleep 0.3; echo tidy; exit 0' TERM; echo up; sleep 1000 & wait"
        for seconds in (2, 10, 50):
            result = await sh(text, box=Box(home, home=home), timeout=seconds)
            # On a slow machine the time may be over too soon. Who is killed at once has never tidied up.
            if "tidy" in result.stdout:
                break
        assert (result.exit_code, result.timed_out, result.stdout) == (124, True, "up\ntidy\n")

    async def test_who_kills_everybody_reaches_nobody_outside(self, home: Path):
        mark = new_mark()
        text = f": {mark}; setsid sleep 1000 & kill -9 $PPID; kill -9 -1; sleep 1000"
        assert (await sh(text, box=Box(home, home=home), timeout=2)).exit_code in (124, 137)
        await until(lambda: not living(mark))

    async def test_a_sandbox_that_cannot_be_built_runs_nothing(self, home: Path):
        # It shall begin where nothing is left to see.
        (home / "work/store/below").mkdir(parents=True)
        box = Box(home / "work", home=home, hidden=(home / "work/store",))
        result = await sh(f"echo ran > '{home}/work/ran'", box=box, sandbox="auto", cwd=home / "work/store/below")
        assert result.blocked and result.exit_code == 126
        assert result.reason.startswith("the sandbox could not be built (bwrap: ")
        assert not (home / "work/ran").exists()


@pytest.mark.parametrize("root", ["/", "/proc", "/sys/kernel", "/dev/shm"])
def test_some_places_are_no_root(root: str):
    with pytest.raises(ValidationError, match="folder for work"):
        wrap(["true"], Box(Path(root)), cwd=Path(root))


def test_a_root_has_to_be_there(tmp_path: Path):
    with pytest.raises(ValidationError, match="exists"):
        wrap(["true"], Box(tmp_path / "gone"), cwd=tmp_path)


def test_what_is_not_there_is_not_asked_for(home: Path):
    words = wrap(["true"], Box(home / "work", home=home), cwd=home / "work")
    assert str(home / ".local/bin") in words and str(home / ".pyenv") not in words


def test_a_path_that_no_system_knows_is_refused(tmp_path: Path):
    with pytest.raises(ValidationError, match="NUL"):
        wrap(["true"], Box(tmp_path), cwd=tmp_path / "\0")


def test_a_working_directory_outside_the_sandbox_is_refused(tmp_path: Path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/link").symlink_to(tmp_path)
    for place in (tmp_path, tmp_path / "in/..", tmp_path / "in/link"):
        with pytest.raises(ValidationError, match="outside the sandbox"):
            wrap(["true"], Box(tmp_path / "in"), cwd=place)


def test_an_account_without_a_home_of_its_own_keeps_the_system_visible(tmp_path: Path):
    for home in ("/", "/usr/sbin", "/bin", "/proc"):
        words = wrap(["true"], Box(tmp_path, home=Path(home)), cwd=tmp_path)
        mounted = [place for option, place in pairwise(words) if option == "--tmpfs"]
        assert mounted == ["/tmp", "/var/tmp"]


# Without bubblewrap, and with one that does not work.


@pytest.fixture(params=["absent", "broken"])
def no_bubblewrap(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    place = tmp_path / "programs"
    place.mkdir()
    (tmp_path / "work").mkdir()
    if request.param == "broken":
        (place / "bwrap").write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n")
        (place / "bwrap").chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", str(place))
    return "bubblewrap is not installed" if request.param == "absent" else "bwrap: No permissions to create"


async def test_a_required_sandbox_that_is_not_to_be_had_blocks(tmp_path: Path, no_bubblewrap: str):
    result = await sh("echo ran > ran", box=Box(tmp_path / "work"), sandbox="required")
    assert (result.exit_code, result.blocked, result.stdout) == (126, True, "")
    assert no_bubblewrap in result.reason and "Install bubblewrap" in result.reason and "`off`" in result.reason
    assert not (tmp_path / "work/ran").exists()


async def test_auto_does_without_a_sandbox_that_is_not_to_be_had(tmp_path: Path, no_bubblewrap: str):
    assert (await sh("echo ran", box=Box(tmp_path / "work"), sandbox="auto")).stdout == "ran\n"
    assert (find_bubblewrap() is None) == ("not installed" in no_bubblewrap)


async def test_off_means_off(tmp_path: Path):
    result = await sh("echo $TMPDIR; cat /proc/self/mounts 2>/dev/null | wc -l", box=Box(tmp_path), sandbox="off")
    assert result.stdout.startswith("/elsewhere\n")
