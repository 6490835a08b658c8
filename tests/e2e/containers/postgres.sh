#!/bin/sh
# Of PostgreSQL's official image: what its entrypoint does with POSTGRES_USER, POSTGRES_DB and POSTGRES_PASSWORD.
set -e
data=/var/lib/postgresql/data
as_postgres() { setpriv --reuid postgres --regid postgres --init-groups "$@"; }
install -d -m 0700 -o postgres -g postgres "$data" /run/postgresql
if [ ! -s "$data/PG_VERSION" ]; then
  printf %s "$POSTGRES_PASSWORD" > /run/password
  chown postgres /run/password
  as_postgres initdb -D "$data" -U "$POSTGRES_USER" --encoding UTF8 --locale C.UTF-8 \
    --auth-local trust --auth-host scram-sha-256 --pwfile /run/password
  rm /run/password
  echo "host all all all scram-sha-256" >> "$data/pg_hba.conf"
  as_postgres pg_ctl -D "$data" -w -o "-c listen_addresses= -c unix_socket_directories=/run/postgresql" start
  as_postgres psql -U "$POSTGRES_USER" -d postgres -c "CREATE DATABASE \"$POSTGRES_DB\""
  as_postgres pg_ctl -D "$data" -w stop
fi
exec setpriv --reuid postgres --regid postgres --init-groups \
  postgres -D "$data" -c listen_addresses='*' -c unix_socket_directories=/run/postgresql
