-- What to watch: psql -f watch.sql, or one query after the other in whatever collects figures.
-- Rows are walled off by owner; this says that we look as the engine does, at everybody's.
SET pollux.scope = 'engine';

-- Jobs that wait, and for how many seconds the oldest has that could be taken.
SELECT count(*) AS waiting, coalesce(max(extract(epoch FROM now()) - updated_at), 0)::integer AS oldest_seconds
FROM pollux.procrastinate_jobs AS job JOIN pollux.runs ON run_id = queueing_lock
WHERE job.status = 'todo' AND NOT EXISTS (
    SELECT FROM pollux.procrastinate_jobs AS other WHERE other.lock = job.lock AND other.status = 'doing'
);

-- Who takes jobs, and how many each has under way.
SELECT worker.id, stands_in, now() - last_heartbeat AS last_heard, count(job.id) AS under_way
FROM pollux.procrastinate_workers AS worker
LEFT JOIN pollux.procrastinate_jobs AS job ON job.worker_id = worker.id AND job.status = 'doing'
WHERE last_heartbeat > now() - interval '6 seconds' GROUP BY worker.id;

-- Runs that are owed work and have no job. Anything but 0 for more than two minutes: nobody here knows their profile, or no worker is alive.
SELECT profile, count(*) FROM pollux.runs
WHERE owed AND updated_at < extract(epoch FROM now()) - 60
    AND NOT EXISTS (SELECT FROM pollux.procrastinate_jobs WHERE lock = thread_id)
GROUP BY profile;

-- Questions that wait for a person, the oldest, and those that expire within the hour.
SELECT count(*) AS pending, coalesce(max(extract(epoch FROM now()) - requested_at), 0)::integer AS oldest_seconds,
    count(*) FILTER (WHERE expires_at < extract(epoch FROM now()) + 3600) AS expiring
FROM pollux.approvals WHERE status = 'pending';

-- Actions of the last week whose outcome nobody knows: somebody has to look, and settle them.
SELECT run_id, action_id, tool_name, to_timestamp(at) AS at FROM pollux.audit AS entry
WHERE error_code = 'outcome_unknown' AND at > extract(epoch FROM now()) - 7 * 86400
    AND NOT EXISTS (
        SELECT FROM pollux.audit AS later
        WHERE later."user" = entry."user" AND later.seq > entry.seq
            AND later.action_id = entry.action_id AND later.kind = 'settled'
    );

-- How runs of the last hour ended.
SELECT profile, status, count(*) FROM pollux.runs
WHERE updated_at > extract(epoch FROM now()) - 3600 GROUP BY profile, status;

-- How far the audit has grown. Keep the number: it never goes back.
SELECT seq FROM pollux.audit_head;

-- Tables: size, dead rows, and when they were last cleaned up.
SELECT relname, pg_size_pretty(pg_total_relation_size(relid)) AS size, n_live_tup, n_dead_tup, last_autovacuum
FROM pg_stat_user_tables WHERE schemaname = 'pollux' ORDER BY pg_total_relation_size(relid) DESC;

-- Who waits for whom. A line here for more than a second is worth a look.
SELECT pid, application_name, wait_event, now() - state_change AS since FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock';

-- Connections.
SELECT application_name, state, count(*) FROM pg_stat_activity
WHERE datname = current_database() GROUP BY application_name, state;

-- The log that is written, and whether it is archived.
SELECT pg_size_pretty(wal_bytes) AS written, stats_reset FROM pg_stat_wal;
SELECT archived_count, failed_count, last_archived_time, last_failed_time FROM pg_stat_archiver;

-- Standbys, and how far each is behind. What a slot holds back fills the disk.
SELECT application_name, state, sync_state, pg_wal_lsn_diff(sent_lsn, replay_lsn) AS bytes_behind, replay_lag
FROM pg_stat_replication;
SELECT slot_name, active, pg_size_pretty(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)) AS held_back
FROM pg_replication_slots;
