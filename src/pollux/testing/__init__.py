"""Shipped for users' tests: conformance suites and what they need. Nothing else of Pollux imports from here."""
