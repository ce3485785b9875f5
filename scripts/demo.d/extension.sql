/* The demo's database has the extension; with EDITION=sql it has the SQL edition. */
CREATE EXTENSION twtasks;
