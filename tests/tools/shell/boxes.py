"""Whether there can be a sandbox here."""

import pytest

from pollux.tools.shell.sandbox import unavailable


async def require_bubblewrap() -> None:
    """Skip where bubblewrap is missing or may not work. A busy machine is asked more than once."""
    why = await unavailable()
    for _ in range(3):
        if why is None or "in time" not in why:
            break
        why = await unavailable()
    if why is not None:
        pytest.skip(f"{why} (apt-get install bubblewrap)")
