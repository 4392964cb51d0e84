"""Write what is in a release: a CycloneDX document of the pinned requirements, with the hashes that installers check.

    .venv/bin/python scripts/sbom.py dist/pollux-VERSION.cdx.json

It says what requirements/runtime.txt pins, extras included, and what the scripts for browsers are built from. The same
files give the same document: it has no time of its own, and its serial number is made from its content.
"""

import base64
import json
import re
import sys
import tomllib
import uuid
from itertools import chain
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
PINS: Final = ROOT / "requirements/runtime.txt"
LOCK: Final = ROOT / "web/package-lock.json"
_PIN = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;\\]+)(?: ; (?P<marker>[^\\]+?))? ?\\?\n")
_HASH = re.compile(r"--hash=(?P<name>sha256):(?P<hash>[0-9a-f]{64})")

Component = dict[str, Any]


def main() -> None:
    """Write it where the command says."""
    if len(sys.argv) != 2:
        sys.exit("usage: scripts/sbom.py FILE.cdx.json")
    path = Path(sys.argv[1])
    path.write_text(json.dumps(document(), indent=2) + "\n", encoding="utf-8")


def document() -> dict[str, Any]:
    """The bill of materials."""
    components = [*python_components(PINS.read_text()), *web_components(json.loads(LOCK.read_text()))]
    own = own_component()
    named = direct_names()
    direct = [each["bom-ref"] for each in components if each["name"] in named]
    content: dict[str, Any] = {
        "metadata": {"component": own},
        "components": components,
        # Whom those need in turn is in their own metadata, and not in what is pinned.
        "dependencies": [{"ref": own["bom-ref"], "dependsOn": direct}],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(content, sort_keys=True))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        **content,
    }


def direct_names() -> set[str]:
    """What Pollux itself asks for, with every extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *chain.from_iterable(project["optional-dependencies"].values())]
    web = json.loads((ROOT / "web/package.json").read_text())["dependencies"]
    return {re.split(r"[^A-Za-z0-9._-]", each)[0].lower() for each in wanted} | set(web)


def own_component() -> Component:
    """Pollux itself."""
    found = re.search(r'__version__ = "([^"]+)"', (ROOT / "src/pollux/_version.py").read_text())
    if found is None:
        sys.exit("src/pollux/_version.py holds no version")
    return {"licenses": [{"license": {"id": "Apache-2.0"}}], **component("application", "pypi", "pollux", found[1])}


def python_components(pins: str) -> list[Component]:
    """One for each pin, with the hash of each of its files: which of them is installed depends on the machine."""
    found: list[Component] = []
    for block in re.split(r"\n(?! )", pins.rstrip("\n")):
        pin = _PIN.match(f"{block}\n")
        if pin is None:
            sys.exit(f"requirements/runtime.txt: expected NAME==VERSION, found {block.splitlines()[0]!r}")
        made = component("library", "pypi", pin["name"], pin["version"])
        made["hashes"] = [{"alg": "SHA-256", "content": each["hash"]} for each in _HASH.finditer(block)]
        if not made["hashes"]:
            sys.exit(f"requirements/runtime.txt: {pin['name']} has no hash; run make pins")
        if pin["marker"]:
            made["properties"] = [{"name": "pollux:marker", "value": pin["marker"]}]
        found.append(made)
    return found


def web_components(lock: dict[str, Any]) -> list[Component]:
    """What the scripts for browsers are built from; what only builds or tests them is in no wheel."""
    found: list[Component] = []
    for path, package in lock["packages"].items():
        if not path.startswith("node_modules/") or package.get("dev") or package.get("link"):
            continue
        made = component("library", "npm", path.removeprefix("node_modules/"), package["version"])
        algorithm, _, value = package["integrity"].partition("-")
        assert algorithm == "sha512", algorithm
        made["hashes"] = [{"alg": "SHA-512", "content": base64.b64decode(value).hex()}]
        found.append(made)
    return found


def component(kind: str, where: str, name: str, version: str) -> Component:
    purl = f"pkg:{where}/{name.lower().replace('@', '%40')}@{version}"
    return {"type": kind, "bom-ref": purl, "name": name, "version": version, "purl": purl}


if __name__ == "__main__":
    main()
