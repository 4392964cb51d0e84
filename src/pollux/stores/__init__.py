"""Stores: memory (the reference), SQLite, PostgreSQL. Each keeps journals, what follows from them, and the audit."""
