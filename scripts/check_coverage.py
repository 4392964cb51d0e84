"""Hold the branch coverage of each package to its threshold. Reads .coverage, as `make test-rest` leaves it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

THRESHOLDS = {"src/pollux/core/": 100.0, "src/pollux/engine/": 95.0}


def main() -> int:
    files = measure()
    results = [check(prefix, least, files) for prefix, least in THRESHOLDS.items()]
    return 0 if all(results) else 1


def measure() -> dict[str, Any]:
    report = Path(".venv/coverage.json")
    command = [sys.executable, "-m", "coverage", "json", "--quiet", "-o", str(report)]
    subprocess.run(command, check=True)
    return json.loads(report.read_text())["files"]


def check(prefix: str, least: float, files: dict[str, Any]) -> bool:
    chosen = {name: entry["summary"] for name, entry in files.items() if name.startswith(prefix)}
    if not chosen:
        print(f"{prefix} has no file yet")
        return True
    total = sum(summary["num_statements"] + summary.get("num_branches", 0) for summary in chosen.values())
    hit = sum(summary["covered_lines"] + summary.get("covered_branches", 0) for summary in chosen.values())
    percent = 100.0 * hit / total if total else 100.0
    print(f"{prefix} {percent:.2f} % of lines and branches, at least {least:g} % wanted")
    if percent >= least:
        return True
    for name, entry in files.items():
        if name in chosen and (lacking := missing(entry)):
            print(f"  {name}: {lacking if len(lacking) <= 200 else lacking[:200] + ' …'}")
    return False


def missing(entry: dict[str, Any]) -> str:
    lines = [str(line) for line in entry["missing_lines"]]
    branches = [f"{start}->{end if end > 0 else 'exit'}" for start, end in entry.get("missing_branches", [])]
    return ", ".join(lines + branches)


if __name__ == "__main__":
    sys.exit(main())
