"""Say in our words what the operating system refused. Every OSError of a file operation becomes one of these."""

import errno
from collections.abc import Generator
from contextlib import contextmanager

from pollux.core.errors import PolluxError, ToolError, ValidationError
from pollux.tools.files.names import outside

_TEXTS = {
    errno.ELOOP: "the path goes round in symbolic links. Give the path of the file itself",
    errno.EACCES: "the operating system denies access to this path. Ask the user to change its permissions",
    errno.EPERM: "the operating system denies access to this path. Ask the user to change its permissions",
    errno.EISDIR: "expected a file, found a folder. list_directory shows what is in it",
    errno.ENOSPC: "the disk is full and nothing was changed. Free some space, then try again",
    errno.EDQUOT: "the disk quota is used up and nothing was changed. Free some space, then try again",
    errno.EROFS: "the disk can only be read, and nothing was changed. Choose another place",
    errno.EAGAIN: "the folders on the way were being moved. Try again",
    errno.ENOENT: "there is nothing at this path. list_directory shows what there is",
    errno.ENOTDIR: "expected a folder on the way, found a file. list_directory shows what there is",
}


@contextmanager
def refusals() -> Generator[None]:
    """Inside the block an OSError is raised as what a user or a model can act upon."""
    try:
        yield
    except OSError as error:
        raise refusal(error) from None


def refusal(error: OSError) -> PolluxError:
    """The error that tells what to do."""
    if error.errno == errno.EXDEV:
        return outside()
    if error.errno == errno.ENAMETOOLONG:
        return ValidationError("path: expected a shorter one, the operating system finds it too long")
    code = error.errno or 0
    return ToolError(_TEXTS.get(code) or f"the operating system refused ({error.strerror or type(error).__name__})")


def too_large(size: int, limit: int, *, doing: str = "read") -> ToolError:
    """What to say of more bytes than one call may carry."""
    return ToolError(
        f"the file has {size / 1e6:,.1f} MB, and at most {limit / 1e6:,.1f} MB are {doing} at once. "
        "Take the part you need with a command such as `head`, `tail` or `grep`, or split the file"
    )
