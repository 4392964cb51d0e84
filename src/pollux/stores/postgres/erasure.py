"""Drop what was said in a thread. The facts and the audit stay whole."""

from pollux.stores.postgres.scopes import ENGINE, Db

DROP = (
    # The thread first, as in a commit: whoever writes into it waits, and nobody waits for each other.
    b"UPDATE pollux.threads SET title = '', compressed = NULL, erased = true WHERE thread_id = %s",
    # Nothing is due any more, also where the end of its keeping was.
    b"UPDATE pollux.runs SET wake_at = NULL WHERE thread_id = %s AND wake_at IS NOT NULL",
    b"DELETE FROM pollux.content WHERE thread_id = %s",
    b"DELETE FROM pollux.messages WHERE thread_id = %s",
    # A grant for this conversation names its recipients, and can never apply again.
    b"DELETE FROM pollux.grants WHERE thread_id = %s AND scope = 'session'",
)


def drop_content(db: Db, thread_id: str) -> None:
    """Drop it from the database, in one transaction and one round trip."""
    with db.pipeline():
        db.execute(ENGINE)
        for statement in DROP:
            db.execute(statement, (thread_id,))
