"""Stores: memory (the reference) and SQLite. Each keeps journals, what is derived from them, and the audit chain."""
