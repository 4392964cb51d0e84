"""The nursery of tests/http, with what Google's tools import when they are first used already there."""

from importlib import import_module

from tests.crash.worker import Nursery
from tests.http.crash_worker import work

for name in (
    "pollux.providers.http",
    "pollux.tools.google.account",
    "pollux.tools.google.consent",
    "pollux.tools.google.toolset",
    "cryptography.hazmat.primitives.ciphers.aead",
    "email_validator",
    "google.auth.transport",
    "google.oauth2.credentials",
    "zoneinfo",
):
    import_module(name)


if __name__ == "__main__":
    Nursery(work).serve()
