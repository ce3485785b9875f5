/* How far a test has shifted the engine's clock. */
CREATE TABLE twtasks.test_clock (
	ahead_us	bigint NOT NULL,		-- Microseconds ahead of the server's clock
	at			timestamptz NOT NULL,	-- When it was shifted, by the server's clock
	actor		text NOT NULL			-- The role that shifted it
);
ALTER TABLE twtasks.test_clock REPLICA IDENTITY FULL;
COMMENT ON TABLE twtasks.test_clock IS 'How far a test has shifted the engine''s clock; counts only where twtasks.testing is on; one row at most';

CREATE TRIGGER table_changed
	AFTER INSERT OR UPDATE OR DELETE ON twtasks.test_clock
	FOR EACH ROW EXECUTE FUNCTION twtasks_internal.table_changed();

/*
 * twtasks.clock()
 *
 *		The engine's current time: the server's clock, unless a test has shifted
 *		it by set_clock().
 *
 * Returns
 *		timestamptz
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.clock()
RETURNS timestamptz
LANGUAGE c VOLATILE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_clock';

/*
 * twtasks_internal.boot_time()
 *
 *		When the server's machine was started, by its clock of now.  Another answer than
 *		before means that somebody has set the clock, that the machine was started again
 *		or stood still, or that this is another machine.
 *
 * Returns
 *		timestamptz
 */
CREATE FUNCTION twtasks_internal.boot_time()
RETURNS timestamptz
LANGUAGE c VOLATILE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_boot_time';

/*
 * twtasks_internal.clock_ahead()
 *
 *		How far twtasks.clock() is ahead of the server's clock.
 *
 * Returns
 *		microseconds; 0 where twtasks.testing is off
 */
CREATE FUNCTION twtasks_internal.clock_ahead()
RETURNS bigint
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_clock_ahead';

/*
 * twtasks_internal.is_testing()
 *
 *		Whether functions for tests may be used: the setting twtasks.testing.
 *
 * Returns
 *		boolean
 *
 * Locks		none
 */
CREATE FUNCTION twtasks_internal.is_testing()
RETURNS boolean
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_is_testing';
