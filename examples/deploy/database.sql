-- Once, as an administrator: psql -v password="$(cat database-password)" -f database.sql
-- The role owns its database and nothing else. Pollux makes its own tables, in the schema pollux.

CREATE ROLE pollux LOGIN PASSWORD :'password' NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE;
CREATE DATABASE pollux OWNER pollux ENCODING 'UTF8' TEMPLATE template0;
REVOKE ALL ON DATABASE pollux FROM PUBLIC;
