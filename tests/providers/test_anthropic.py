"""Anthropic's provider against the emulator's third face: the conformance suite, for both ways to think."""

from collections.abc import AsyncGenerator

import pytest

from pollux.core.redact import Secret
from pollux.emulator.server import run_emulator
from pollux.providers.anthropic import AnthropicProvider
from pollux.testing.provider_lab import ProviderLab
from pollux.testing.provider_suite import ProviderSuite

KEY = "sk-ant-canary-key-0001"


class TestAnthropic(ProviderSuite):
    # The first thinks only when it is told to, for so many tokens; the others as they like. The last wants its
    # thoughts back behind the very words they followed.
    @pytest.fixture(params=["claude-haiku-4-5", "claude-opus-5", "claude-haiku-5-5"])
    async def lab(self, request: pytest.FixtureRequest) -> AsyncGenerator[ProviderLab]:
        async with run_emulator() as emulator:
            lab = ProviderLab(
                emulator, lambda url: AnthropicProvider(Secret(KEY), url), model=request.param, secret=KEY
            )
            yield lab
            await lab.provider.close()
