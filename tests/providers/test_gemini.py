"""Gemini's provider against the emulator: the conformance suite, on both HTTP clients."""

from collections.abc import AsyncGenerator

import pytest

from pollux.core.redact import Secret
from pollux.emulator.server import run_emulator
from pollux.providers.gemini import GeminiProvider
from pollux.providers.http import AiohttpHttp
from pollux.providers.light import LightHttp
from pollux.testing.provider_lab import ProviderLab
from pollux.testing.provider_suite import ProviderSuite

KEY = "AIza-canary-key-0001"


class TestGemini(ProviderSuite):
    @pytest.fixture(params=[LightHttp, AiohttpHttp])
    async def lab(self, request: pytest.FixtureRequest) -> AsyncGenerator[ProviderLab]:
        async with run_emulator() as emulator:
            lab = ProviderLab(
                emulator,
                lambda url: GeminiProvider(Secret(KEY), url, request.param()),
                model="gemini-3.8-flash",
                secret=KEY,
            )
            yield lab
            await lab.provider.close()
