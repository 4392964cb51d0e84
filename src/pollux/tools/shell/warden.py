"""Stands between us and a command, and leaves nothing of the command behind.

Run by its path as a process of its own, with the standard library alone; it imports nothing of Pollux. The command
gets a session of its own. The warden adopts every orphan below it (Linux: child subreaper), so that whoever forks twice
or calls setsid() is still found by walking up from it in /proc. It ends the tree when it is told to, when the command
has ended, and when the other end of its control socket closes: that is how it learns of our death, also by kill -9.

There are two, one above the other. A command may kill its parent; then the guard above the warden does the same work,
and the warden does it when somebody kills the guard. Neither can be halted for long: each wakes the other.

We write the command's environment, which starts it; then `stop` to end the tree (TERM, some patience, KILL) or `kill`
to end it at once. The warden writes `exit N`, `signal N` or `cannot ERRNO`, and `left` if somebody withstood even KILL.

Elsewhere than on Linux nobody adopts orphans: there the tree is the command's process group and no more.
"""

import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Iterator

STOP_SECONDS = 1.5
"""From TERM to KILL. Less than the two seconds that a stopped tool has: all is gone before it counts as stopped."""
LINGER_SECONDS = 0.5
"""How long those whom the command leaves behind may go on, so that their last words arrive."""
KILL_SECONDS = 5.0
"""After this we give up on those who do not even die of KILL: a disk or a file server holds them."""
LOOK_SECONDS = 1.0
KILL_AGAIN_SECONDS = 0.01

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38


def main(control: int, argv: list[str], *, is_wrapper: bool) -> None:
    """Wait for the word, run the command, and report. A command that wraps another is not asked to end."""
    os.set_inheritable(control, False)
    env = _environment(control)
    if env is None:
        return
    # Who writes `pkill python` means something else.
    _prctl(PR_SET_NAME, b"pollux-warden")
    # Nothing in the tree may come to own more rights than we have: we could not signal it any more.
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    parent, wake = os.getppid(), _wake_on_signals()
    # Who cannot adopt could not do a killed warden's work.
    if _prctl(PR_SET_CHILD_SUBREAPER, 1):
        guard = os.getpid()
        if warden := os.fork():
            _let_go()
            _watch(_Tree(warden, is_warden=True), control=None, wake=wake, parent=parent)
            return
        parent = guard
    _ward(control, argv, env, is_wrapper=is_wrapper, parent=parent)


def _ward(control: int, argv: list[str], env: dict[bytes, bytes], *, is_wrapper: bool, parent: int) -> None:
    adopts = _prctl(PR_SET_CHILD_SUBREAPER, 1)
    wake = _wake_on_signals()
    try:
        command = _start(argv, env)
    except OSError as problem:
        _tell(control, f"cannot {problem.errno}")
        return
    _let_go()
    tree = _Tree(command, is_wrapper=is_wrapper)
    all_gone = _watch(tree, control=control, wake=wake, parent=parent)
    if not adopts:
        _signal_group(command, signal.SIGKILL)
    code = tree.status if tree.status is not None else -signal.SIGKILL
    _tell(control, f"exit {code}" if code >= 0 else f"signal {-code}")
    if not all_gone:
        _tell(control, "left")
    _signal(os.getppid(), signal.SIGCONT)


class _Tree:
    """The command and everybody below us. `status` is how the command itself ended, negative for a signal."""

    def __init__(self, command: int, *, is_wrapper: bool = False, is_warden: bool = False) -> None:
        self.command = command
        self.status: int | None = None
        self._is_warden = is_warden
        self._spared = command if is_wrapper else None

    def is_left(self) -> bool:
        """Whether anybody is left, after burying the dead. Who has a living descendant has a child: we adopt them."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if os.WIFSTOPPED(status):
                if pid == self.command and self._is_warden:
                    _signal(pid, signal.SIGCONT)
            elif pid == self.command:
                self.status = os.waitstatus_to_exitcode(status)

    def terminate(self) -> None:
        for pid, _ in self._members():
            if pid != self._spared:
                _signal(pid, signal.SIGTERM)

    def kill(self) -> None:
        members = list(self._members())
        # Groups first: that is one step for the kernel, and whoever forks just then is hit as well.
        for group in {group for _, group in members} - {os.getpgrp()}:
            _signal_group(group, signal.SIGKILL)
        for pid, _ in members:
            _signal(pid, signal.SIGKILL)

    def _members(self) -> Iterator[tuple[int, int]]:
        try:
            parents = dict(_processes())
        except OSError:
            # No /proc to look into. The number is the command's for as long as we have not buried it.
            if self.status is None:
                yield self.command, self.command
            return
        below: dict[int, list[int]] = {}
        for pid, (parent, _) in parents.items():
            below.setdefault(parent, []).append(pid)
        todo = below.get(os.getpid(), [])
        while todo:
            pid = todo.pop()
            yield pid, parents[pid][1]
            todo += below.get(pid, [])


def _processes() -> Iterator[tuple[int, tuple[int, int]]]:
    """Every process with its parent and its group. Raises OSError where there is no /proc."""
    for name in os.listdir("/proc"):
        if not name.isdecimal():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                # The name stands in parentheses and may hold any byte, also further parentheses.
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        yield int(name), (int(fields[1]), int(fields[2]))


def _watch(tree: _Tree, *, control: int | None, wake: int, parent: int) -> bool:
    """Until the tree is gone. Says whether it is: the last seconds are for those who do not die."""
    poll = select.poll()
    poll.register(wake, select.POLLIN)
    if control is not None:
        poll.register(control, select.POLLIN)
    kill_at = float("inf")
    while tree.is_left():
        now = time.monotonic()
        if tree.status is not None:
            kill_at = min(kill_at, now + LINGER_SECONDS)
        if now >= kill_at + KILL_SECONDS:
            return False
        if now >= kill_at:
            tree.kill()
        wait = KILL_AGAIN_SECONDS if now >= kill_at else min(LOOK_SECONDS, kill_at - now)
        ready = {number for number, _ in poll.poll(wait * 1000)}
        now = time.monotonic()
        order = b""
        if wake in ready and signal.SIGTERM in os.read(wake, 4096):
            order = b"stop"
        if control is not None and control in ready:
            order = _next_order(control)
            if order == b"kill":
                # Once closed it would stay ready for ever.
                poll.unregister(control)
        if order == b"stop" and kill_at > now + STOP_SECONDS:
            tree.terminate()
            kill_at = now + STOP_SECONDS
        # That the socket is open proves little: a copy of its other end may live on in somebody whom we forked.
        if order == b"kill" or os.getppid() != parent:
            kill_at = min(kill_at, now)
    return True


def _environment(control: int) -> dict[bytes, bytes] | None:
    """What the command shall find. None if we are told to stop before that, or nobody is there to tell."""
    block = b""
    while b"\0\0" not in block:
        try:
            more = os.read(control, 65536)
        except OSError:
            return None
        if not more:
            return None
        block += more
    entries, _, order = block.partition(b"\0\0")
    if order:
        return None
    pairs = (entry.partition(b"=") for entry in entries.split(b"\0") if entry)
    return {name: value for name, _, value in pairs}


def _next_order(control: int) -> bytes:
    """The last word that has arrived. A closed socket means `kill`: there is nobody left to run a command for."""
    try:
        words = os.read(control, 4096).split()
    except OSError:
        return b"kill"
    return words[-1] if words else b"kill"


def _start(argv: list[str], env: dict[bytes, bytes]) -> int:
    """The command's pid, once it is the command. Raises OSError if it cannot be executed."""
    failed, tell_failure = os.pipe()
    warden = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            for number in (signal.SIGPIPE, signal.SIGXFSZ):
                # Python ignores them, and who is started ignoring a signal goes on ignoring it.
                signal.signal(number, signal.SIG_DFL)
            if os.getppid() == warden:
                os.execvpe(argv[0], argv, env)
        except OSError as problem:
            os.write(tell_failure, str(problem.errno).encode())
        finally:
            os._exit(127)
    os.close(tell_failure)
    error = os.read(failed, 16)
    os.close(failed)
    if error:
        os.waitpid(pid, 0)
        raise OSError(int(error), "")
    return pid


def _let_go() -> None:
    """Keep no copies of the command's pipes: whoever is at their other ends shall see when the command closes them."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    if nothing > 2:
        os.close(nothing)


def _wake_on_signals() -> int:
    """What becomes readable when a child ends or somebody asks us to."""
    readable, writable = os.pipe()
    for end in (readable, writable):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    # A person's Ctrl-C is for Pollux, which tells us what follows from it.
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, frame: None)
    return readable


def _prctl(option: int, value: int | bytes) -> bool:
    if sys.platform != "linux":
        return False
    return ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass  # It has ended, or belongs to somebody else.


def _signal_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except OSError:
        pass


def _tell(control: int, line: str) -> None:
    try:
        os.write(control, line.encode() + b"\n")
    except OSError:
        pass  # Nobody listens any more.


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[3:], is_wrapper=sys.argv[2] == "wrapper")
    # There is nothing to tidy up, and tidying up takes its time.
    os._exit(0)
