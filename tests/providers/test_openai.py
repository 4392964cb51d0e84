"""The OpenAI-compatible provider against the emulator's other face: the conformance suite."""

from collections.abc import AsyncGenerator

import pytest

from pollux.core.redact import Secret
from pollux.emulator.server import run_emulator
from pollux.providers.openai import OpenAIProvider
from pollux.testing.provider_lab import ProviderLab
from pollux.testing.provider_suite import ProviderSuite

KEY = "sk-canary-key-0001"


class TestOpenAI(ProviderSuite):
    @pytest.fixture
    async def lab(self) -> AsyncGenerator[ProviderLab]:
        async with run_emulator() as emulator:
            lab = ProviderLab(
                emulator,
                lambda url: OpenAIProvider(Secret(KEY), f"{url}/v1"),
                model="gpt-5",
                secret=KEY,
                shows_thoughts=False,
            )
            yield lab
            await lab.provider.close()
