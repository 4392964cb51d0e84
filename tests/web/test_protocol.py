"""The types that the browser side is written against are those that the server publishes."""

import subprocess

from tests.web.bundles import WEB, needs_web
from tests.web.client_pages import NODE, needs_node

pytestmark = [needs_node, needs_web]


def test_the_types_are_what_the_schema_makes_of_them():
    assert NODE is not None
    made = subprocess.run(
        [NODE, WEB / "packages/protocol/generate.mjs", "--print"], check=True, capture_output=True, timeout=60
    )
    kept = (WEB / "packages/protocol/src/generated.ts").read_bytes()
    assert made.stdout == kept, "the schema has changed; run `node web/packages/protocol/generate.mjs`"
