"""The command line's contract, with a model of Anthropic's."""

from tests.cli.conformance.suite import ANTHROPIC, CommandLineSuite


class TestAnthropic(CommandLineSuite):
    provider = ANTHROPIC
