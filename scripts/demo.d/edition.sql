/*
 * edition.sql
 *		What the demo needs besides on the SQL edition: its handler runs with the rights of
 *		its owner, called by a role without rights.
 */
GRANT CREATE ON SCHEMA bank TO demo_bank;
ALTER FUNCTION bank.transfer SECURITY DEFINER;
ALTER FUNCTION bank.transfer SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION bank.transfer OWNER TO demo_bank;
REVOKE CREATE ON SCHEMA bank FROM demo_bank;
REVOKE ALL ON FUNCTION bank.transfer FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bank.transfer TO twtasks_caller, demo_sidecar;
GRANT USAGE ON SCHEMA bank TO twtasks_caller;
