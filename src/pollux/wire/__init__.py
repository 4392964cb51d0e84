"""Shapes and bytes: how facts look outside the process. No sockets and no files here."""
