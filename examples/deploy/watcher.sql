-- Once, as the role pollux, after the first start: a role for whatever watches. It reads no content.
-- As an administrator, before: CREATE ROLE pollux_watch LOGIN PASSWORD '…'; GRANT pg_monitor TO pollux_watch;
-- GRANT CONNECT ON DATABASE pollux TO pollux_watch;

GRANT USAGE ON SCHEMA pollux TO pollux_watch;
GRANT SELECT ON pollux.runs, pollux.approvals, pollux.audit, pollux.audit_head, pollux.meta,
    pollux.procrastinate_jobs, pollux.procrastinate_workers TO pollux_watch;
