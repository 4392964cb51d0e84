"""SQL as text: where statements end, and which of them merely read."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollux.runbooks.blocks.sql_text import Dialect, reads_only, statements


@pytest.mark.parametrize(
    ("dialect", "text", "parts"),
    [
        ("sqlite", "", []),
        ("sqlite", " ; ;-- nothing\n/* ; */", []),
        ("sqlite", "SELECT 1; SELECT 2", ["SELECT 1", "SELECT 2"]),
        (
            "sqlite",
            "SELECT ';', \"a;b\", `c;d`, [e;f] -- ;\n; SELECT 2;",
            ["SELECT ';', \"a;b\", `c;d`, [e;f] -- ;", "SELECT 2"],
        ),
        ("sqlite", "SELECT 'it''s;'; VALUES(1)", ["SELECT 'it''s;'", "VALUES(1)"]),
        (
            "sqlite",
            "CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT CASE 1 WHEN 1 THEN 2 END; DELETE FROM b; END; SELECT 1",
            [
                "CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT CASE 1 WHEN 1 THEN 2 END; DELETE FROM b; END",
                "SELECT 1",
            ],
        ),
        ("postgres", "SELECT $$a;b$$, $x$;$$;$x$; SELECT 2", ["SELECT $$a;b$$, $x$;$$;$x$", "SELECT 2"]),
        ("postgres", r"SELECT E'it\'s;'; SELECT 2", [r"SELECT E'it\'s;'", "SELECT 2"]),
        ("postgres", "SELECT /* a /* ; */ ; */ 1; SELECT 2", ["SELECT /* a /* ; */ ; */ 1", "SELECT 2"]),
        ("postgres", "SELECT a[1]; SELECT 2", ["SELECT a[1]", "SELECT 2"]),
    ],
)
def test_a_text_falls_into_statements(dialect: Dialect, text: str, parts: list[str]):
    assert [statement.text for statement in statements(text, dialect)] == parts


@pytest.mark.parametrize(
    ("dialect", "text", "reads"),
    [
        ("sqlite", "select * from a where b = 'DELETE'", True),
        ("sqlite", "WITH a AS (SELECT 1) SELECT * FROM a", True),
        ("sqlite", "(VALUES (1))", True),
        ("sqlite", "EXPLAIN QUERY PLAN SELECT 1", True),
        ("sqlite", "PRAGMA table_info(a)", True),
        ("sqlite", "PRAGMA main.user_version", True),
        ("sqlite", "PRAGMA user_version = 4", False),
        ("sqlite", "PRAGMA wal_checkpoint", False),
        ("sqlite", "INSERT INTO a VALUES (1)", False),
        ("sqlite", "WITH a AS (SELECT 1) INSERT INTO b SELECT * FROM a", False),
        ("sqlite", "REPLACE INTO a VALUES (1)", False),
        ("sqlite", "SELECT replace(a, 'x', 'y') FROM b", True),
        ("sqlite", "ATTACH 'x' AS y", False),
        ("sqlite", "VACUUM", False),
        ("postgres", "SELECT 1", True),
        ("postgres", "SHOW work_mem", True),
        ("postgres", "TABLE a", True),
        ("postgres", "EXPLAIN ANALYZE SELECT 1", True),
        ("postgres", "EXPLAIN ANALYZE DELETE FROM a", False),
        ("postgres", "WITH x AS (DELETE FROM a RETURNING *) SELECT * FROM x", False),
        ("postgres", "SELECT * INTO b FROM a", False),
        ("postgres", "SELECT * FROM a FOR UPDATE", False),
        ("postgres", "SELECT nextval('s')", False),
        ("postgres", "SELECT pg_terminate_backend(1)", False),
        ("postgres", "SELECT pg_sleep(1), pg_size_pretty(1::bigint)", True),
        ("postgres", "COPY a TO PROGRAM 'x'", False),
        ("postgres", "DO $$ BEGIN DELETE FROM a; END $$", False),
        ("postgres", "COMMIT", False),
    ],
)
def test_what_merely_reads_is_told_from_what_may_write(dialect: Dialect, text: str, reads: bool):
    (statement,) = statements(text, dialect)
    assert reads_only(statement, dialect) is reads


@given(st.text(alphabet="aE;'\"$-/*`[]\n ", max_size=60))
def test_no_text_is_lost_and_none_is_read_for_ever(text: str):
    for dialect in ("sqlite", "postgres"):
        position = 0
        for statement in statements(text, dialect):
            found = text.find(statement.text, position)
            assert found >= 0
            position = found + len(statement.text)


@pytest.mark.parametrize(
    "text", ["/*" * 300_000, "'" * 300_001, "$a$" * 200_000, "SELECT 1;" * 100_000, "E'" + "\\" * 500_000]
)
def test_long_texts_take_no_longer_than_their_length(text: str):
    began = time.process_time()
    statements(text, "postgres")
    statements(text, "sqlite")
    assert time.process_time() - began < 5
