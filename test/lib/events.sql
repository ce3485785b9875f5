-- Makes the extension twtasks_events in this transaction: on the SQL edition, by its file.
\set extension events
\ir extension.sql
