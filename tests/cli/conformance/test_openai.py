"""The command line's contract, with a model of OpenAI's."""

from tests.cli.conformance.suite import OPENAI, CommandLineSuite


class TestOpenAI(CommandLineSuite):
    provider = OPENAI
