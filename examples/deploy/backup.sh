#!/bin/sh
# One base backup of the whole server, with the log it needs, checked; and the signed heads of the audit beside it.
#
#   BACKUPS=/srv/backups PGHOST=db.internal PGUSER=pollux_backup POLLUX_HOME=/var/lib/pollux ./backup.sh
#
# The role needs REPLICATION; on Debian, PATH needs /usr/lib/postgresql/VERSION/bin. No key is in a backup: keep
# audit.key and the seal key elsewhere, or whoever has the backup has everything. A backup holds what was erased after
# it; KEEP_DAYS says for how long.
set -eu

made="${BACKUPS:?where backups go}/$(date -u +%Y%m%dT%H%M%SZ)"
umask 077
mkdir -p "$BACKUPS"

# Under another name until it is whole and was looked at.
pg_basebackup --pgdata="$made.part/base" --wal-method=stream --checkpoint=fast --no-password
pg_verifybackup --quiet "$made.part/base"

if [ -n "${POLLUX_HOME:-}" ]; then
    for heads in "$POLLUX_HOME"/audit-heads.*.jsonl; do
        [ -e "$heads" ] && cp -p "$heads" "$made.part/"
    done
fi
mv "$made.part" "$made"
echo "$made"

find "$BACKUPS" -mindepth 1 -maxdepth 1 -type d -mtime +"${KEEP_DAYS:-14}" -exec rm -rf {} +
