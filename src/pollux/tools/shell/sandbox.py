"""Run a program inside bubblewrap. A sandbox that was asked for and cannot start is a refusal, never a run without it.

Inside there are, read-only: the system's programs and libraries, those files of /etc that programs need to know names,
hosts, certificates and time, and the tool chains that people keep at home. The root is there, and writable. The rest of
the home directory, other people's homes, /run with its sockets and secrets, /var, /sys and the machine's processes are
not there at all. Home and /tmp are empty, private, and forgotten afterwards.

There is no network unless it is asked for: what a command can read it could otherwise send away, and the machine's own
loopback is where databases, metadata services and Pollux itself listen to whoever comes from here.

A command may write whatever is in the root, also what somebody runs later (Makefiles, scripts). `kept` places in it
are read-only, and cannot be moved away with their folders; `hidden` ones cannot be read either. A place that does not
exist is kept from being made where it is `reserved`, by an empty file that stands there meanwhile. Control files that a
command made elsewhere in the root are set aside once it has ended; where several are at work in one place, by what was
there before the first of them (`at_work.py`).
"""

import asyncio
import errno
import logging
import os
import shutil
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import Literal

from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.tools.shell.at_work import Unrecorded, Work
from pollux.tools.shell.control_files import MOST_FOLDERS, MOST_PLACES, Found, control_files, is_within, set_aside
from pollux.tools.shell.environment import installed_path
from pollux.tools.shell.output import OnOutput
from pollux.tools.shell.process import CANNOT_RUN, ShellResult, cannot_run, run_process
from pollux.tools.shell.replaced import Covered, covered, replaced, shown, words
from pollux.tools.shell.reserved import taken
from pollux.tools.shell.watching import Unwatched, watched

logger = logging.getLogger(__name__)

Sandbox = Literal["auto", "required", "off"]
"""Where there is one; nothing runs without one; none."""

PROBE_SECONDS = 10.0

SYSTEM = tuple("/usr /bin /sbin /lib /lib32 /lib64 /libx32 /opt /nix /run/current-system".split())

ETC = tuple(
    "alternatives bash.bashrc ca-certificates ca-certificates.conf crypto-policies debian_version fonts gai.conf group "
    "host.conf hosts inputrc java-11-openjdk java-17-openjdk java-21-openjdk ld.so.cache ld.so.conf ld.so.conf.d "
    "locale.alias locale.conf localtime magic mime.types nsswitch.conf os-release passwd perl pki/ca-trust "
    "pki/tls/certs profile protocols python3 python3.11 python3.12 python3.13 resolv.conf services shells ssl/cert.pem "
    "ssl/certs ssl/openssl.cnf terminfo timezone".split()
)

TOOL_CHAINS = tuple(
    ".asdf .bun/bin .cargo/bin .deno/bin .fnm .local/bin .local/lib .local/pipx .local/share/mise .local/share/pipx "
    ".local/share/pnpm .local/share/uv .nodenv .nvm .pyenv .rbenv .rustup .sdkman/candidates .volta anaconda3 go/bin "
    "miniconda3 miniforge3".split()
)

SECRETS = tuple(
    ".aws .azure .bash_history .cargo/credentials .cargo/credentials.toml .config .docker .git-credentials .gitconfig "
    ".gnupg .kube .local/share/keyrings .local/share/kwalletd .local/share/pollux .mozilla .netrc .npmrc .ssh "
    ".password-store .pgpass .pypirc .python_history .vault-token .zsh_history".split()
)
"""What is covered up in a home directory that is part of the root, and therefore there."""

TOO_LARGE = (
    f"this folder holds more than {MOST_FOLDERS:,} folders, too many to look for files in them that decide what may run"
    " here. Work in one of its folders, or run this in another one"
)
TOO_MANY_PLACES = (
    f"this folder holds more than {MOST_PLACES:,} files that decide what may run here, too many to keep them all from a"
    " command. Work in one of its folders, or ask the user to remove what is not needed"
)
MOST_TOLD = 20

RECORDS = "commands"
NO_ROOTS = tuple(Path(place) for place in "/proc /sys /dev".split())


def own_home() -> Path:
    """The home directory, or `/` for an account that has none."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")


@frozen
class Box:
    """What a program finds inside. `readable` and `kept` win over what is writable around them, `hidden` over all.

    `readable` places are shown wherever they are, `kept` ones only guarded where they are in the root.
    """

    root: Path
    writable: bool = True
    network: bool = False
    home: Path = field(default_factory=own_home)
    also_writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    kept: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    stores: tuple[Path, ...] = ()
    """SQLite files: what lies beside one and begins with its name is hidden too, and so is a journal planted there."""
    reserved: tuple[str, ...] = ()
    """Names in the root that no command makes, where they are not there."""
    endings: tuple[str, ...] = ()
    """How names end that are kept wherever they are in the root, beside those that always are."""
    records: Path = field(default_factory=lambda: own_home() / ".local/share/pollux" / RECORDS)
    """The private folder in which commands at work are noted for one another; hidden, too."""


async def run_boxed(
    argv: Sequence[str],
    *,
    sandbox: Sandbox,
    box: Box,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float | None,
    output_limit: int,
    stdin: bytes | None = None,
    on_output: OnOutput | None = None,
) -> ShellResult:
    """Run a program in the box if `sandbox` says so. What may not run without one is a blocked result.

    Raises ValidationError for a box that cannot be built, and what `run_process` raises.
    """
    why_not = await unavailable(box.root) if sandbox != "off" else "nobody wants one"
    if sandbox == "required" and why_not:
        advice = "Install bubblewrap (the package is called `bubblewrap`), or choose the sandbox `off`"
        return _blocked(f"a sandbox is required, but {why_not}. {advice}")
    program = find_bubblewrap(box.root)
    if why_not or program is None:
        if sandbox == "auto":
            _warn_once(why_not or "")
        return await run_process(
            argv, cwd=cwd, env=env, timeout=timeout, output_limit=output_limit, stdin=stdin, on_output=on_output
        )
    for store in box.stores:
        _hold_journal(_real(store), _real(box.root))
    if "TMPDIR" in env:
        env = {**env, "TMPDIR": "/tmp"}

    async def run(box: Box, new: set[str]) -> ShellResult:
        readable, writable = os.pipe()
        os.set_blocking(readable, False)
        with os.fdopen(readable, "rb", buffering=0) as status, os.fdopen(writable, "wb", buffering=0) as told:
            try:
                with watched(root := str(_real(box.root)), _covered_places(box), new=new) as watch:
                    result = await run_process(
                        [program, "--json-status-fd", str(writable), *wrap(argv, box, cwd=cwd)],
                        cwd=cwd,
                        env=env,
                        timeout=timeout,
                        output_limit=output_limit,
                        stdin=stdin,
                        on_output=on_output,
                        is_wrapper=True,
                        pass_fds=[told.fileno()],
                        halt=watch.first,
                    )
            except Unwatched as problem:
                return _blocked(str(problem))
            # Only of a program that it could start does it say how that ended.
            has_run = b'"exit-code"' in (status.read() or b"")
        if watch.first.done():
            why = f"stopped: {shown(root, watch.first.result())} was replaced while the command was at work"
            return _with_words(replace(result, reason=why), [why], on_output)
        return result if has_run or result.exit_code != 1 else _not_run(argv[0], result.stderr)

    if not box.reserved:
        return await run(box, set())
    with taken(box.root, box.reserved if box.writable else ()) as places:
        if box.writable:
            return await _run_noted(run, box, places, timeout=timeout, on_output=on_output)
        found = await asyncio.to_thread(control_files, str(_real(box.root)), endings=box.endings)
        return _too_much(found) or await run(_with_control_files(box, found, places), set())


async def _run_noted(
    run: Callable[[Box, set[str]], Awaitable[ShellResult]],
    box: Box,
    places: Collection[Path],
    *,
    timeout: float | None,
    on_output: OnOutput | None,
) -> ShellResult:
    """Run it where other commands may be at work, and set aside what was made meanwhile. `places` are taken."""
    root = str(_real(box.root))
    files: dict[str, Covered] = {}
    new: set[str] = set()
    made: list[str] = []

    def finish(before: Found) -> None:
        others = replaced(files, new)
        kept = {place: target for place, target in before.kept.items() if not others.get(place)}
        made.extend(_set_aside(root, replace(before, kept=kept), box.endings))
        made.extend(words(root, place) for place, is_risky in others.items() if not is_risky)

    work = Work(_real(box.records), root, endings=box.endings, timeout=timeout)
    try:
        look = partial(control_files, root, endings=box.endings)
        found = await asyncio.to_thread(work.begin, look, taken=set(map(str, places)))
        guarded = _with_control_files(box, found, places)
        inside = [str(place) for place in map(_real, (*guarded.kept, *guarded.hidden)) if is_within(str(place), root)]
        files |= await asyncio.to_thread(covered, inside)
        result = _too_much(found) or await run(guarded, new)
    except Unrecorded as problem:
        return _blocked(str(problem))
    finally:
        # Also of a command that was stopped; and it goes on where somebody does not wait for it.
        await asyncio.shield(asyncio.to_thread(work.end, finish))
    return _with_words(result, made, on_output)


def _with_control_files(box: Box, found: Found, taken: Collection[Path]) -> Box:
    """The box with the control files that are in its root, and those that nobody shall make there."""
    # What is hidden could be written for as long as it is hidden. These are empty: there is nothing to hide.
    all_hidden = (*box.hidden, box.records, *map(Path, found.hidden))
    hidden = tuple(place for place in all_hidden if _real(place) not in taken)
    kept = dict.fromkeys((*box.kept, *map(Path, found.kept), *taken))
    return replace(box, kept=tuple(kept), hidden=tuple(dict.fromkeys(hidden)))


def _too_much(found: Found) -> ShellResult | None:
    if not found.is_whole:
        return _blocked(TOO_LARGE)
    if len(found.hidden) + len(found.kept) > MOST_PLACES:
        return _blocked(TOO_MANY_PLACES)
    return None


def _set_aside(root: str, before: Found, endings: tuple[str, ...]) -> tuple[str, ...]:
    after = control_files(root, endings=endings, most=10 * MOST_FOLDERS, since=before)
    made = set_aside(root, before, after)
    if made:
        logger.warning("a command made %d control files, which were set aside in its folder", len(made))
    return made


def _with_words(result: ShellResult, words: Sequence[str], on_output: OnOutput | None) -> ShellResult:
    if not words:
        return result
    more = "".join(f"\npollux: {each}" for each in (*words[:MOST_TOLD], *(["…"] if len(words) > MOST_TOLD else [])))
    if on_output is not None:
        on_output("stderr", f"{more}\n".encode("utf-8", "replace"))
    return replace(result, stderr=f"{result.stderr}{more}\n")


def _warn_once(why_not: str) -> None:
    if why_not not in _warned:
        _warned.add(why_not)
        logger.warning(
            "commands run WITHOUT a sandbox, with all that this account may do: %s. Install or repair it, "
            "or say sandbox = required to run nothing without one",
            why_not,
        )


_warned: set[str] = set()


def find_bubblewrap(folder: Path | None = None) -> str | None:
    """The path of bubblewrap's program, never one in the folder. `unavailable` knows whether it works here."""
    path = installed_path(os.environ.get("PATH", os.defpath), folder or Path.cwd())
    return shutil.which("bwrap", path=path or os.devnull)


async def unavailable(folder: Path | None = None) -> str | None:
    """Why there can be no sandbox here, or None. Tried once, with everything that a sandbox needs."""
    program = find_bubblewrap(folder)
    if program is None:
        return "bubblewrap is not installed"
    if program not in _tried:
        inside = wrap(["true"], Box(Path("/usr"), writable=False), cwd=Path("/usr"))
        result = await run_process(
            [program, *inside], cwd=Path("/"), env={}, timeout=PROBE_SECONDS, output_limit=1000, is_wrapper=True
        )
        if result.timed_out:
            return "bubblewrap did not answer in time"
        said = result.stderr.strip() or f"exit code {result.exit_code}"
        _tried[program] = None if result.exit_code == 0 else f"bubblewrap does not work here ({said})"
    return _tried[program]


_tried: dict[str, str | None] = {}


def wrap(argv: Sequence[str], box: Box, *, cwd: Path) -> list[str]:
    """Bubblewrap's arguments for running this program in the box. Raises ValidationError if there is no such box."""
    root = _folder(box.root, "root")
    inside = (root, *(_folder(place, "writable place") for place in box.also_writable))
    readable = tuple(_real(place) for place in box.readable)
    where = _real(cwd)
    if not _is_within(where, (*inside, *readable)):
        raise ValidationError(f"the working directory {where} is outside the sandbox. Choose one in {root}")
    hidden = (*box.hidden, *(place for store in box.stores for place in _beside(_real(store))))
    home = _real(box.home)
    is_home_inside = home.is_relative_to(root)
    return [
        *"--unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --new-session --die-with-parent".split(),
        *"--cap-drop ALL".split(),
        *([] if box.network else ["--unshare-net"]),
        *_show((*SYSTEM, *(f"/etc/{name}" for name in ETC))),
        # Read-only also for root, who could otherwise change the machine's settings in /proc/sys.
        *"--proc /proc --remount-ro /proc --dev /dev --tmpfs /tmp --tmpfs /var/tmp".split(),
        *([] if is_home_inside else _private_home(home)),
        *("--bind" if box.writable else "--ro-bind", str(root), str(root)),
        *(word for place in inside[1:] for word in ("--bind", str(place), str(place))),
        *_show(readable),
        # A mount of its own would be writable in a root that is not.
        *(_pin(root, (*box.kept, *hidden)) if box.writable else ()),
        *_guard(root, box.kept),
        *_cover(home / name for name in SECRETS if is_home_inside),
        *_cover(hidden),
        # What nobody keeps should not look as if it had been written.
        *"--remount-ro /".split(),
        *("--chdir", str(where), "--", *argv),
    ]


def _covered_places(box: Box) -> Iterator[str]:
    """What `wrap` keeps and hides, by its own name and where that leads, and what may come to lie beside a store."""
    root, home = _real(box.root), _real(box.home)
    stores = [_real(store) for store in box.stores]
    secrets = (home / name for name in SECRETS if home.is_relative_to(root))
    for place in (*box.kept, *box.hidden, *secrets, *(each for store in stores for each in _beside(store))):
        if os.path.lexists(place):
            yield from dict.fromkeys((str(_real(place.parent) / place.name), str(_real(place))))
    for store in stores:
        if store.parent.is_dir():
            yield from (f"{store}{ending}" for ending in ("-journal", "-wal", "-shm"))


def _folder(place: Path, name: str) -> Path:
    path = _real(place)
    if path == Path("/") or _is_within(path, NO_ROOTS):
        raise ValidationError(f"a sandbox's {name} is a folder for work, found {path}. Choose one below it")
    if not os.path.isdir(path):
        raise ValidationError(f"a sandbox's {name} is a folder that exists, found {path}. Make it, or choose another")
    return path


def _private_home(home: Path) -> Iterator[str]:
    # Some accounts have a folder of the system as their home, or none: there is nothing to hide.
    if home != Path("/") and not _is_within(home, (*map(Path, SYSTEM), *NO_ROOTS, Path("/etc"))):
        yield from ("--tmpfs", str(home))
        yield from _show(home / name for name in TOOL_CHAINS)


def _show(places: Iterable[Path | str]) -> Iterator[str]:
    for place in places:
        # Bubblewrap passes over what is missing, but stumbles over what we may not look at.
        if os.path.exists(place):
            yield from ("--ro-bind-try", str(place), str(place))


def _beside(store: Path) -> Iterator[Path]:
    with suppress(OSError):
        for name in os.listdir(store.parent):
            if name == store.name or name.startswith((f"{store.name}-", f"{store.name}.")):
                yield store.parent / name


def _hold_journal(store: Path, root: Path) -> None:
    """Make the one file beside a store that is not there while it is open: only what exists can be covered.

    SQLite rolls a journal back into the store when it opens it. An empty one says nothing to it.
    """
    if store.is_relative_to(root) and os.path.isfile(store):
        with suppress(OSError):
            os.close(os.open(f"{store}-journal", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _guard(root: Path, places: Iterable[Path]) -> Iterator[str]:
    for place in sorted(map(_real, places)):
        if place.is_relative_to(root) and os.path.exists(place):
            yield from ("--ro-bind", str(place), str(place))


def _pin(root: Path, places: Iterable[Path]) -> Iterator[str]:
    """Make mounts of the folders on the way to these places: a mount cannot be renamed, nor another put there."""
    real = [place for place in map(_real, places) if place.is_relative_to(root) and os.path.lexists(place)]
    folders = {folder for place in real for folder in place.parents if folder.is_relative_to(root) and folder != root}
    for folder in sorted(folders):
        yield from ("--bind", str(folder), str(folder))


def _cover(places: Iterable[Path]) -> Iterator[str]:
    for place in places:
        path = _real(place)
        if os.path.isdir(path):
            yield from ("--tmpfs", str(path))
        elif os.path.exists(path):
            yield from ("--ro-bind", os.devnull, str(path))


def _real(path: Path) -> Path:
    try:
        return Path(os.path.realpath(path))
    except ValueError as problem:
        raise ValidationError("a path holds a NUL, which no system knows. Leave it out") from problem


def _is_within(path: Path, places: Iterable[Path]) -> bool:
    return any(path.is_relative_to(place) for place in places)


def _not_run(program: str, said: str) -> ShellResult:
    """What to make of bubblewrap's last words."""
    said = said.strip()
    if said.startswith("bwrap: execvp "):
        return cannot_run(program, errno.ENOENT if said.endswith(os.strerror(errno.ENOENT)) else errno.EACCES)
    return _blocked(f"the sandbox could not be built ({said}). Nothing was run")


def _blocked(reason: str) -> ShellResult:
    return ShellResult(CANNOT_RUN, "", f"blocked: {reason}", blocked=True, reason=reason)
