"""Drop what was said in a thread. The facts and the audit stay whole."""

import sqlite3


def drop_content(db: sqlite3.Connection, thread_id: str) -> None:
    """Drop it from the database. The log still holds it until the next checkpoint."""
    db.execute("BEGIN IMMEDIATE")
    drop(db, thread_id)
    db.execute("COMMIT")


def drop(db: sqlite3.Connection, thread_id: str) -> None:
    """The same, in a transaction that goes on."""
    db.execute("DELETE FROM content WHERE thread_id = ?", (thread_id,))
    # Nothing is due any more, also where the end of its keeping was.
    db.execute("UPDATE runs SET wake_at = NULL WHERE thread_id = ? AND wake_at IS NOT NULL", (thread_id,))
    db.execute("DELETE FROM messages WHERE thread_id = ?", (thread_id,))
    # A grant for this conversation names its recipients, and can never apply again.
    db.execute("DELETE FROM grants WHERE thread_id = ? AND scope = 'session'", (thread_id,))
    db.execute("UPDATE threads SET title = '', compressed = NULL, erased = 1 WHERE thread_id = ?", (thread_id,))
