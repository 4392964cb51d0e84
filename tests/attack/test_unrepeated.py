"""Whatever does not fit is repeated to nobody, by no route: not as a value, a name, a member of a list or a type."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from tests.attack.credentials import HERE, World, world
from tests.http.site import TOKENS

from pollux.serve import document

CANARY = "canary-0123456789"
MOST = 2_000
"""No refusal is longer, however long the request was."""
Json = Any


def routes() -> list[tuple[str, str]]:
    told: dict[str, dict[str, Any]] = json.loads(document())["paths"]
    return [(path, method.upper()) for path, row in told.items() for method in row if method in METHODS]


METHODS = ("get", "post", "put", "patch", "delete")


def schemas() -> dict[str, Any]:
    return json.loads(document())["components"]["schemas"]


def sample(schema: Any, at: int = 0) -> Json:
    """A value of about this schema."""
    if "$ref" in schema:
        return sample(schemas()[schema["$ref"].rpartition("/")[2]], at + 1) if at < 6 else {}
    for either in ("anyOf", "oneOf"):
        if either in schema:
            return sample(schema[either][0], at + 1)
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            return {name: sample(each, at + 1) for name, each in schema.get("properties", {}).items()} or {"a": 1}
        case "array":
            return [sample(schema.get("items", {}), at + 1)]
        case "integer" | "number":
            return 1
        case "boolean":
            return True
        case _:
            return "text"


def spoilt(value: Json, canary: str) -> Iterator[Json]:
    """The canary as a name, in place of each value, and as a value of another type, at every place."""
    yield from (canary, [canary], {canary: canary}, {f"{canary}` - at `$.{canary}": 1})
    if isinstance(value, dict):
        yield {**value, canary: 1}
        yield {**value, f"x` - at `$.{canary}": 1}
        for name, member in cast("dict[str, Json]", value).items():
            yield from ({**value, name: changed} for changed in spoilt(member, canary))
    if isinstance(value, list):
        yield from ([changed] for changed in spoilt(value[0], canary))


def body_of(path: str, method: str) -> Json:
    row = json.loads(document())["paths"][path][method.lower()]
    content = row.get("requestBody", {}).get("content", {}).get("application/json")
    return sample(content["schema"]) if content else None


@pytest.fixture
async def site(tmp_path: Path):
    async with world(tmp_path) as site:
        yield site


async def refused(site: World, path: str, method: str, body: Json, query: str = "") -> tuple[int, bytes]:
    headers = [("authorization", f"Bearer {next(iter(TOKENS.values()))}"), ("origin", HERE)]
    target = path.replace("{", "").replace("}", "") + query
    got = await site.ask(method, target, headers, json.dumps(body).encode())
    return got.status, got.body


@pytest.mark.parametrize("large", [1, 20_000], ids=["short", "long"])
async def test_no_route_repeats_what_does_not_fit(site: World, large: int):
    tried = 0
    for path, method in routes():
        base = body_of(path, method)
        if base is None:
            continue
        for body in spoilt(base, CANARY * large):
            status, said = await refused(site, path, method, body)
            if status == 400:
                assert CANARY.encode() not in said, (method, path, said[:300])
                tried += 1
            if status >= 400:
                assert len(said) < MOST, (method, path, said[:300])
    print(f"\n{tried} refusals, 0 with what was sent")
    assert tried > 100


async def test_no_query_is_repeated(site: World):
    for path, method in routes():
        for query in (f"?{CANARY}=1", f"?limit={CANARY}", f"?{CANARY}=1&{CANARY}=2", f"?status={CANARY}&kind={CANARY}"):
            status, said = await refused(site, path, method, {}, query)
            assert status < 400 or CANARY.encode() not in said, (method, path, query, said[:300])
