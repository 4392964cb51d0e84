"""`pollux runbook check`: read documents, and say what is wrong with them and what would be passed over."""

from pathlib import Path
from typing import Any, Final

from pollux.cli.kept import Teller
from pollux.config import Settings
from pollux.core.errors import ValidationError
from pollux.runbooks.agents.block import Agent
from pollux.runbooks.blocks import BlockType, standard_blocks
from pollux.runbooks.outputs import missing_outputs
from pollux.runbooks.shelf import volume

TYPES: Final[dict[str, BlockType]] = {
    name: type_ for type_ in (*standard_blocks(), Agent((), {}, "", Path())) for name in type_.names
}
RUNS: Final = frozenset({*TYPES, "sub-runbook"})


def check(files: list[Path], settings: Settings, *, as_json: bool) -> int:
    """0 where all of them can be run, 1 where one cannot."""
    found = [_checked(file) for file in files]
    teller = Teller(settings)
    if as_json:
        teller.document({"items": found})
    else:
        for each in found:
            teller.lines(_lines(each, teller))
    return 1 if any(each["error"] for each in found) else 0


def _checked(file: Path) -> dict[str, Any]:
    try:
        runbook = volume(file.absolute()).read()
    except ValidationError as problem:
        return {"file": str(file), "error": str(problem), "warnings": [], "name": "", "blocks": 0, "runs": 0}
    return {
        "file": str(file),
        "error": runbook.hazard.text if runbook.hazard else "",
        "warnings": [
            *(notice.text for notice in runbook.warnings if not notice.is_hazard),
            *missing_outputs(runbook, TYPES),
        ],
        "name": runbook.name,
        "blocks": len(runbook.blocks),
        "runs": sum(1 for block in runbook.blocks if block.type in RUNS),
    }


def _lines(found: dict[str, Any], teller: Teller) -> list[str]:
    file = teller.line(found["file"])
    if found["error"]:
        return [f"{file}: {teller.line(found['error'])}"]
    lines = [f"{file}: {found['runs']} of {found['blocks']} blocks run"]
    return [*lines, *(f"{file}: {teller.line(warning)}" for warning in found["warnings"])]
