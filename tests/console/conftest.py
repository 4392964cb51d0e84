"""The browser of a worker, for the tests of the console."""

from tests.web.shared_browser import chromium

__all__ = ["chromium"]
