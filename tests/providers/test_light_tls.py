"""The light HTTP client over TLS: whom it trusts."""

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.waiting import HANG_SECONDS

from pollux.core.errors import ModelError
from pollux.providers.light import LightHttp

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="openssl is not installed (apt-get install openssl)"
)

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.fixture
async def http() -> AsyncGenerator[LightHttp]:
    client = LightHttp()
    yield client
    await client.close()


async def get(http: LightHttp, url: str) -> bytes:
    async with http.get(url, {}, idle=HANG_SECONDS, total=HANG_SECONDS) as response:
        return await response.read_all()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    files = ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(path), "-out", f"{path}.crt"]
    subprocess.run([*command.split(), *files], check=True, capture_output=True)
    path.write_bytes(path.read_bytes() + Path(f"{path}.crt").read_bytes())
    return path


@pytest.fixture
async def secure(certificate: Path) -> AsyncGenerator[int]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(OK)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def test_a_certificate_nobody_vouches_for_is_refused(http: LightHttp, secure: int):
    with pytest.raises(ModelError, match="its certificate is not trusted: self") as caught:
        await get(http, f"https://localhost:{secure}/")
    assert caught.value.kind == "connection"


async def test_a_trusted_certificate_is_good_for_its_own_name_only(
    http: LightHttp, secure: int, certificate: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    for _ in range(2):
        assert await get(http, f"https://localhost:{secure}/") == b"ok"
    with pytest.raises(ModelError, match="its certificate is not trusted: IP address mismatch"):
        await get(http, f"https://127.0.0.1:{secure}/")
