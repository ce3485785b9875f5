/*
 * twtasks_internal.recorded_addresses()
 *
 *		Addresses by which sidecars may execute the tasks of this database.  The library
 *		recognizes copies by the files of the server, and records none.
 *
 * Returns
 *		address, at, actor	see twtasks.addresses
 */
CREATE FUNCTION twtasks_internal.recorded_addresses(OUT address text, OUT at timestamptz, OUT actor text)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE ROWS 3
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT NULL::text, NULL::timestamptz, NULL::text WHERE false
$$;

CREATE VIEW twtasks.addresses AS
	SELECT r.address, r.at, r.actor FROM twtasks_internal.recorded_addresses() r;
COMMENT ON VIEW twtasks.addresses IS 'Addresses by which sidecars may execute the tasks of this database, in the SQL edition; see adopt() and forget_address()';

/*
 * twtasks_internal.remove_address(address)
 *
 *		Removes a recorded address.
 *
 * Returns
 *		removed			the address as it was recorded; NULL if it was not
 *		remaining		number of addresses that are left
 */
CREATE FUNCTION twtasks_internal.remove_address(address text, OUT removed text, OUT remaining bigint)
RETURNS record
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT NULL::text, 0::bigint
$$;

/*
 * twtasks.forget_address(address, reason)
 *
 *		Removes an address, which counts in the SQL edition: a sidecar that comes by it
 *		from now on executes nothing.  A sidecar at work is not stopped.  If no address is
 *		left, a warning says that the next sidecar records its own, whichever server it
 *		has reached.
 *
 * Parameters
 *		address			as twtasks.addresses has it; the host in any case of letters
 *		reason			for the record
 *
 * Returns
 *		false if the address was not recorded
 *
 * Errors
 *		22004			address is NULL
 *
 * Writes		twtasks.policy_audit
 * Locks		the addresses, against other changes
 * Example		SELECT twtasks.forget_address('old.example.com:5432/app');
 */
CREATE FUNCTION twtasks.forget_address(address text, reason text DEFAULT NULL)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	done record;
BEGIN
	IF forget_address.address IS NULL THEN
		RAISE EXCEPTION 'address must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	SELECT * INTO done FROM twtasks_internal.remove_address(forget_address.address);
	IF done.removed IS NOT NULL THEN
		INSERT INTO twtasks.policy_audit (at, actor, kind, name, before, after, reason)
		VALUES (clock_timestamp(), twtasks_internal.actor(), 'address', done.removed,
				jsonb_build_object('address', done.removed), NULL, forget_address.reason);
		IF done.remaining = 0 THEN
			RAISE WARNING 'no address is recorded any more'
				USING DETAIL = 'The next sidecar records the address by which it comes, also if this database is a copy.',
					HINT = 'Start the sidecar of this database first.';
		END IF;
	END IF;
	RETURN done.removed IS NOT NULL;
END $$;
