"""The documents of the folder: what is listed, what is shown, and what may be changed."""

import asyncio
import json
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.http.site import Got, Person
from tests.runbooks.http.site import put, runbook_site
from tests.runbooks.lab import agent, block, document, id_of, script

ONE = "/api/runbooks/documents?path="
FOREIGN = {"type": "acp", "command": "gemini", "args": ["--fast"], "env": {"A": "b"}}
YAML = f"""\
# Kept.
id: {id_of("document")}
name: Deploy
version: 1
content:
- id: {id_of("look")}
  type: script
  props:
    name: look
    interpreter: bash
    code: uname -a   # as it is
  children: []
- id: {id_of("ask")}
  type: agent
  props:
    name: ask
    source:
      type: internal
    prompt: Say what this is.
  children: []
"""


async def shown(person: Person, path: str) -> Got:
    return await person.get(ONE + quote(path))


async def test_the_folder_is_listed_by_path_with_what_is_wrong(tmp_path: Path):
    folder = tmp_path / "runbooks"
    async with runbook_site(tmp_path) as here:
        put(folder, "b.atrb", document(script("one", "true"), block("runbook-link", "odd"), name="Second"))
        put(folder, "a/deep.runbook.json", document(script("one", "true"), name="First"))
        put(folder, "c.atrb", "content: [")
        for other in ("notes.txt", ".hidden/d.atrb", "node_modules/e.atrb", ".b.atrb"):
            put(folder, other, document())
        whole = (await here.ada.get("/api/runbooks")).body
        first = (await here.ada.get("/api/runbooks?limit=2")).body
        rest = (await here.ada.get(f"/api/runbooks?limit=2&before={quote(first['next'])}")).body
    assert [(item["path"], item["name"], item["blocks"]) for item in whole["items"]] == [
        ("a/deep.runbook.json", "First", 1), ("b.atrb", "Second", 2), ("c.atrb", "", 0),
    ]  # fmt: skip
    assert [bool(item["error"]) for item in whole["items"]] == [False, False, True]
    assert len(whole["items"][1]["warnings"]) == 1 and whole["next"] is None
    assert first["items"] + rest["items"] == whole["items"] and rest["next"] is None


async def test_a_document_shows_its_text_its_blocks_and_what_its_agents_are_told(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        text = document(
            script("one", "true"), agent("work", "Do it.", source=FOREIGN, timeoutSeconds=5), agent("us", "")
        )
        put(tmp_path / "runbooks", "a b/ü.atrb", text)
        got = (await shown(here.ada, "a b/ü.atrb")).body
    assert (got["source"], got["form"], got["trusted"], got["error"]) == (text, "json", False, "")
    one, work, us = got["blocks"]
    assert (one["type"], one["runs"], one["agent"], one["props"]["code"]) == ("script", True, None, "true")
    assert work["agent"]["source"] == FOREIGN and work["agent"]["timeoutSeconds"] == 5 and work["line"] > 0
    assert us["agent"]["source"] == {"type": "internal", "model": "scripted", "maker": None, "uri": None}
    assert us["agent"]["capabilities"] == dict.fromkeys(
        ("readFiles", "writeFiles", "executeCommands", "alwaysAllowTools"), False
    )


async def test_a_document_that_cannot_be_read_is_shown_with_why(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        put(tmp_path / "runbooks", "a.atrb", "content: [")
        got = (await shown(here.ada, "a.atrb")).body
    assert got["source"] == "content: [" and "line" in got["error"] and got["blocks"] == []


NO_DOCUMENTS = [
    "", ".", "..", "/", "../a.atrb", "x/../a.atrb", "./a.atrb", "/etc/passwd", "a.atrb/", "//a.atrb", "sub//a.atrb",
    "notes.txt", ".env", ".hidden/a.atrb", "node_modules/a.atrb", "missing.atrb", "sub", "sub.atrb", "out.atrb",
    "way/b.atrb", "loop.atrb", "x" * 300 + ".atrb", "y/" * 400 + "a.atrb", "a.atrb ", "A.ATRB", "fifo.atrb",
    "\ud83d.atrb", "a%00.atrb", "~/a.atrb",
]  # fmt: skip


async def test_nothing_but_the_documents_of_the_folder_can_be_had(tmp_path: Path):
    import os

    folder = tmp_path / "runbooks"
    async with runbook_site(tmp_path) as here:
        secret = put(tmp_path, "outside/b.atrb", document(name="Secret"))
        put(tmp_path, "a.atrb", document(name="Secret"))
        for path in ("a.atrb", "notes.txt", ".env", ".hidden/a.atrb", "node_modules/a.atrb", "sub/x"):
            put(folder, path, document(name="Inside"))
        (folder / "sub.atrb").mkdir()
        (folder / "out.atrb").symlink_to(secret)
        (folder / "way").symlink_to(secret.parent)
        (folder / "loop.atrb").symlink_to(folder / "loop.atrb")
        os.mkfifo(folder / "fifo.atrb")
        whole = str(folder / "a.atrb")
        for path in (*NO_DOCUMENTS, whole):
            told = quote(path, errors="surrogatepass")
            for got in (
                await here.ada.get(ONE + told),
                await here.ada.send("PUT", ONE + told, {"source": "[]", "digest": "x"}),
                await here.ada.send(
                    "PATCH", f"/api/runbooks/documents/blocks/b?path={told}", {"props": {}, "digest": "x"}
                ),
                await here.ada.post("/api/runbooks/runs", {"path": path.encode("utf-8", "replace").decode()}),
            ):
                assert got.status in (400, 404), (path, got)
                assert "Secret" not in json.dumps(got.body)
        listed = await here.ada.get("/api/runbooks")
    assert "Secret" not in json.dumps(listed.body)
    assert "a.atrb" in [item["path"] for item in listed.body["items"]]


async def test_a_change_replaces_what_was_read_and_nothing_newer(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        file = put(tmp_path / "runbooks", "a.atrb", YAML)
        file.chmod(0o640)
        old = (await shown(here.ada, "a.atrb")).body
        got = await here.ada.send("PUT", ONE + "a.atrb", {"source": YAML + "# more\n", "digest": old["digest"]})
        assert (got.status, got.body["source"]) == (200, YAML + "# more\n")
        assert file.read_text() == YAML + "# more\n" and file.stat().st_mode & 0o777 == 0o640
        late = await here.ada.send("PUT", ONE + "a.atrb", {"source": YAML, "digest": old["digest"]})
        assert (late.status, late.code) == (409, "document_changed")
        bad = YAML.replace("type: internal", "type: nobody")
        refused = await here.ada.send("PUT", ONE + "a.atrb", {"source": bad, "digest": got.body["digest"]})
        assert refused.status == 400 and "Invalid source" in refused.body["error"]["message"]
        assert id_of("ask") in refused.body["error"]["message"] and "line" in refused.body["error"]["message"]
    assert file.read_text() == YAML + "# more\n"
    assert [each.name for each in file.parent.iterdir()] == ["a.atrb"]


async def test_of_many_who_change_a_document_at_once_one_is_heard(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        file = put(tmp_path / "runbooks", "a.atrb", YAML)
        digest = (await shown(here.ada, "a.atrb")).body["digest"]
        texts = [f"{YAML}# {number}\n" for number in range(12)]
        answers = await asyncio.gather(
            *(here.ada.send("PUT", ONE + "a.atrb", {"source": text, "digest": digest}) for text in texts)
        )
    assert sorted(got.status for got in answers) == [200, *[409] * 11]
    assert file.read_text() == next(got.body["source"] for got in answers if got.status == 200)


async def test_properties_of_a_block_change_and_every_other_line_stays(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        file = put(tmp_path / "runbooks", "a.atrb", YAML)
        digest = (await shown(here.ada, "a.atrb")).body["digest"]
        place = f"/api/runbooks/documents/blocks/{id_of('ask')}?path=a.atrb"
        props = {"prompt": "Say it: {{ doc.previous.output.stdout }}", "timeoutSeconds": 60}
        got = await here.ada.send("PATCH", place, {"props": props, "digest": digest})
        assert got.status == 200
        (asked,) = (each["agent"] for each in got.body["blocks"] if each["id"] == id_of("ask"))
        assert (asked["prompt"], asked["timeoutSeconds"]) == (props["prompt"], 60)
        wrong = await here.ada.send("PATCH", place, {"props": {"source": 7}, "digest": got.body["digest"]})
        assert wrong.status == 400 and "Invalid source" in wrong.body["error"]["message"]
        nobody = place.replace(id_of("ask"), id_of("nobody"))
        assert (await here.ada.send("PATCH", nobody, {"props": {}, "digest": got.body["digest"]})).status == 404
        late = await here.ada.send("PATCH", place, {"props": {}, "digest": digest})
        assert (late.status, late.code) == (409, "document_changed")
    kept = [line for line in YAML.splitlines() if "prompt" not in line]
    assert [line for line in file.read_text().splitlines() if line in kept] == kept


async def test_trust_is_for_the_programs_that_were_shown(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        tool = put(tmp_path / "runbooks", "tool.sh", "true\n")
        put(tmp_path / "runbooks", "a.atrb", document(script("one", "sh tool.sh")))
        read = (await shown(here.ada, "a.atrb")).body
        assert any(each["word"] == "tool.sh" for each in read["programs"])
        body = {"path": "a.atrb", "trust": True, "digest": read["digest"], "programsDigest": read["programsDigest"]}
        tool.write_text("touch evil\n")
        late = await here.ada.post("/api/runbooks/runs", body)
        assert (late.status, late.code) == (409, "document_changed")
        assert (await shown(here.ada, "a.atrb")).body["trusted"] is False
        read = (await shown(here.ada, "a.atrb")).body
        body["programsDigest"] = read["programsDigest"]
        assert (await here.ada.post("/api/runbooks/runs", body)).status == 201


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_nothing_is_changed_where_that_was_not_allowed(tmp_path: Path, method: str):
    async with runbook_site(tmp_path, lines=['users = ["ada"]']) as here:
        file = put(tmp_path / "runbooks", "a.atrb", YAML)
        got = (await shown(here.ada, "a.atrb")).body
        assert got["editable"] is False
        path = ONE + "a.atrb" if method == "PUT" else f"/api/runbooks/documents/blocks/{id_of('ask')}?path=a.atrb"
        change = {"source": "[]"} if method == "PUT" else {"props": {"prompt": "x"}}
        refused = await here.ada.send(method, path, {**change, "digest": got["digest"]})
    assert (refused.status, refused.code) == (403, "policy_denied")
    assert file.read_text() == YAML


async def test_trust_is_for_the_document_that_was_read(tmp_path: Path):
    async with runbook_site(tmp_path) as here:
        file = put(tmp_path / "runbooks", "a.atrb", document(script("one", "true")))
        read = (await shown(here.ada, "a.atrb")).body["digest"]
        blind = await here.ada.post("/api/runbooks/runs", {"path": "a.atrb", "trust": True})
        assert blind.status == 400
        file.write_text(document(script("one", "false")))
        late = await here.ada.post("/api/runbooks/runs", {"path": "a.atrb", "trust": True, "digest": read})
        assert (late.status, late.code) == (409, "document_changed")
        assert (await shown(here.ada, "a.atrb")).body["trusted"] is False
        read = (await shown(here.ada, "a.atrb")).body["digest"]
        assert (
            await here.ada.post("/api/runbooks/runs", {"path": "a.atrb", "trust": True, "digest": read})
        ).status == 201
        assert (await shown(here.ada, "a.atrb")).body["trusted"] is True
        file.write_text(file.read_text() + "\n")
        assert (await shown(here.ada, "a.atrb")).body["trusted"] is False
    assert not list((tmp_path / "runbooks").glob("*trust*")), "pins are kept at home"
