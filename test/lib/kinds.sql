-- Makes the extension twtasks_kinds in this transaction: on the SQL edition, by its file.
\set extension kinds
\ir extension.sql
