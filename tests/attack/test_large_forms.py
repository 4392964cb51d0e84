"""What takes long to decode is refused by its length, before anybody is asked who sent it."""

from pathlib import Path

from tests.http.site import site

from pollux.providers.scripted import ScriptedProvider

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


async def test_a_form_or_a_query_that_takes_long_to_decode_is_refused_by_its_length(tmp_path: Path):
    async with site(tmp_path, ScriptedProvider()) as here:
        body = b"token=" + b"%41" * 300_000
        async with here.http.post(f"{here.url}/login", data=body, headers=FORM | {"Origin": here.url}) as response:
            assert response.status == 413
        assert (await here.ada.get("/api/agent/runs?before=" + "x" * 20_000)).status == 400
