-- Makes the extension twtasks_NAME in this transaction, for NAME in the variable
-- extension.  The SQL edition has a file of it, which scripts/check leaves without BEGIN
-- and COMMIT in the directory TWT_EDITIONS.
SELECT (twtasks.edition()).edition = 'sql' AS is_edition, 'twtasks_' || :'extension' AS full_name \gset
\if :is_edition
\getenv file TWT_EDITIONS
\set file :file '/' :extension '.part.sql'
\o /dev/null
\i :file
\o
RESET client_min_messages;
RESET check_function_bodies;
\else
CREATE EXTENSION :full_name;
\endif
