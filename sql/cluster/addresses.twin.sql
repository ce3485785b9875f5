-- instead of twtasks_internal.recorded_addresses:
CREATE FUNCTION twtasks_internal.recorded_addresses(OUT address text, OUT at timestamptz, OUT actor text)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE ROWS 3 SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT a.address, a.at, a.actor FROM twtasks_internal.address a ORDER BY a.at, a.address
$$;

-- instead of twtasks_internal.remove_address:
CREATE FUNCTION twtasks_internal.remove_address(address text, OUT removed text, OUT remaining bigint)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- Two calls at once would each count the address that the other one removes.
	LOCK TABLE twtasks_internal.address IN SHARE ROW EXCLUSIVE MODE;
	DELETE FROM twtasks_internal.address a WHERE a.address = twtasks_internal.plain_address(remove_address.address)
	RETURNING a.address INTO removed;
	remaining := (SELECT count(*) FROM twtasks_internal.address);
END $$;
