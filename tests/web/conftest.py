"""The browser of a worker, for the tests of the browser side."""

from tests.web.shared_browser import chromium

__all__ = ["chromium"]
