"""Documents of others: each of their blocks becomes a call, or says exactly why not."""

from pathlib import Path

import pytest
from tests.runbooks.blocks.at_work import prepared, run

from pollux.core.errors import ToolError
from pollux.runbooks.blocks import standard_blocks
from pollux.runbooks.documents import Runbook, read
from pollux.runbooks.scene import Scene

SAMPLES = Path(__file__).parents[4] / "shared/samples/atrb"
TYPES = {name: kind for kind in standard_blocks() for name in kind.names}


def sample(name: str) -> Runbook:
    path = SAMPLES / name
    if not path.exists():
        pytest.skip("the samples are not here")
    return read(path.read_text(), form="atrb")


def test_every_script_of_the_rust_tests_becomes_a_call():
    runbook = sample("Run-Rust-tests.atrb")
    scene = Scene(runbook=runbook, directory="/srv")
    blocks = [block for block in runbook.blocks if block.type in TYPES]
    calls = [TYPES[block.type].call(block, scene) for block in blocks]
    assert [(call.tool, call.args["interpreter"]) for call in calls] == [("runbook_script", "bash")] * 3
    assert all(prepared(TYPES[block.type], call) for block, call in zip(blocks, calls, strict=True))


async def test_the_release_notes_run_up_to_the_directory_that_is_not_here():
    runbook = sample("Fetch-Release-Notes.atrb")
    scene = Scene(runbook=runbook, directory="/srv")
    directory, dropdown, script, editor = (block for block in runbook.blocks if block.type in TYPES)
    with pytest.raises(ToolError, match="/Users/binarymuse/src/desktop must be a directory, found nothing"):
        await run(TYPES["directory"], directory, scene)
    # From there on, as if it had been.
    chosen = await run(TYPES["dropdown"], dropdown, scene)
    scene = TYPES["dropdown"].after(scene, dropdown, chosen)
    call = TYPES["script"].call(script, scene)
    assert call.args["code"] == "gh release view v0.0.106 --json body | jq -r .body "
    scene = TYPES["script"].after(
        scene,
        script,
        {"exit_code": 0, "stdout": " notes\n", "stderr": "", "variables": {}, "output_variable": "release_notes"},
    )
    shown = TYPES["editor"].call(editor, scene)
    assert (shown.args["text"], shown.sources) == ("notes", {script.id})
