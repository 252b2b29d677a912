#!/bin/sh
# Runs once, when the database is made: a role of its own for Assay. A superuser would be above row-level security.
set -eu
psql -v ON_ERROR_STOP=1 -v password="$ASSAY_DB_PASSWORD" --username "$POSTGRES_USER" --dbname postgres <<'SQL'
CREATE ROLE assay LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS PASSWORD :'password';
CREATE DATABASE assay OWNER assay;
SQL
