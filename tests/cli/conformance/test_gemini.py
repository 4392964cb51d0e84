"""The command line's contract, with a model of Gemini's."""

from tests.cli.conformance.suite import GEMINI, CommandLineSuite


class TestGemini(CommandLineSuite):
    provider = GEMINI
