"""The environment of a child: what every program needs, and what was named for it. Secrets are not among it."""

import os
from collections.abc import Mapping

PASSED_ON = frozenset(
    "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TERM COLORTERM NO_COLOR TMPDIR SSL_CERT_FILE SSL_CERT_DIR".split()
)


def child_environment(base: Mapping[str, str], named: Mapping[str, str]) -> dict[str, str]:
    """What a child gets to see of `base`, and all of `named`.

    Proxies are not passed on: their addresses often hold a password. Of the PATH only absolute entries are, lest a
    program's name means a file of the folder that it happens to run in.
    """
    passed = {name: value for name, value in base.items() if name in PASSED_ON or name.startswith("LC_")}
    if "PATH" in passed:
        entries = passed["PATH"].split(os.pathsep)
        passed["PATH"] = os.pathsep.join(entry for entry in entries if os.path.isabs(entry))
    return {**passed, **named}
