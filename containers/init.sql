-- init.sql -- runs once, in the empty database of compose.yaml.
CREATE EXTENSION twtasks;
\set password `cat /run/secrets/sidecar_password`
CREATE ROLE sidecar LOGIN PASSWORD :'password';
GRANT twtasks_worker TO sidecar;
