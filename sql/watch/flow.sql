/*
 * For people without Prometheus.  Each sidecar adds its last minute; the leader
 * merges rows older than 48 hours to hours, and deletes them after 400 days.  There
 * is no key: readers sum.  Not in dumps.
 */
CREATE TABLE twtasks.flow (
	at				timestamptz NOT NULL,			-- Begin of the time that the row is about; an hour's rows begin with the hour
	step			interval NOT NULL,				-- Length of that time: about a minute, an hour after 48 hours, more after an outage
	node			bigint,							-- Incarnation of the sidecar; NULL: all sidecars, in rows of hours
	bucket			text COLLATE "C" NOT NULL,		-- Bucket of the tasks
	type			text COLLATE "C" NOT NULL,		-- Type of the tasks; "(other)": types beyond the sidecar's option metrics.types
	started			bigint NOT NULL,				-- Tries that began
	done			bigint NOT NULL,				-- Tasks that ended as done
	failed			bigint NOT NULL,				-- Tasks that ended as FAILED
	errors			bigint NOT NULL,				-- Tasks that went to ERROR
	retried			bigint NOT NULL,				-- Tries that failed and are repeated
	refused			bigint NOT NULL,				-- Results that the database refused: the task was taken over or changed meanwhile
	unknown			bigint NOT NULL,				-- Tries whose result this sidecar never reported: it gave up, or its incarnation was declared gone
	wait			bigint[],						-- Tries by seconds from runnable to started: 20 bounds from 0.00025 to 3600, and above; NULL: not measured
	run				bigint[]						-- Tries by seconds from started to the result, with the same bounds; NULL: not measured
);
CREATE INDEX flow_at ON twtasks.flow (at);
/* Rows have no key, and logical replication must tell which were deleted. */
ALTER TABLE twtasks.flow REPLICA IDENTITY FULL;
COMMENT ON TABLE twtasks.flow IS 'What each sidecar did in each minute, by bucket and type; tasks that end without a sidecar, as by finish_task(), are not counted';

/*
 * twtasks_internal.note_flow(incarnation, at, length_ms, buckets, types, counts,
 *							  waits, runs)
 *
 *		Adds what a sidecar did in a time that began at "at" to twtasks.flow.  A
 *		sidecar that got no answer calls again with the same time; the second call
 *		does nothing if the first one was committed.  A sidecar calls in its first minute
 *		without rows, too, so that its silence tells that it starts nothing.
 *
 * Parameters
 *		buckets, types	one element for each row
 *		counts			7 elements for each row: started, done, failed, errors, retried,
 *						refused, unknown
 *		waits, runs		21 elements for each row; nulls: not measured
 *
 * Returns
 *		the number of new rows
 *
 * Errors
 *		22023			the arrays do not match, or have more than 1000 rows
 *		55P03			another transaction has locked the table for more than a second
 *
 * Writes		twtasks.flow, twtasks.node
 */
CREATE FUNCTION twtasks_internal.note_flow(
	incarnation bigint,
	at timestamptz,
	length_ms bigint,
	buckets text[],
	types text[],
	counts bigint[],
	waits bigint[],
	runs bigint[])
RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
AS $$
DECLARE
	nrows CONSTANT integer := cardinality(note_flow.types);
	noted bigint;
BEGIN
	IF nrows > 1000 OR cardinality(note_flow.buckets) <> nrows OR cardinality(note_flow.counts) <> nrows * 7
		OR cardinality(note_flow.waits) <> nrows * 21 OR cardinality(note_flow.runs) <> nrows * 21 THEN
		RAISE EXCEPTION 'arrays for % rows of twtasks.flow do not match', nrows
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF EXISTS (SELECT FROM twtasks.flow f WHERE f.at = note_flow.at AND f.node = note_flow.incarnation) THEN
		RETURN 0;
	END IF;
	UPDATE twtasks.node n SET notes_flow = true WHERE n.incarnation = note_flow.incarnation AND NOT n.notes_flow;
	INSERT INTO twtasks.flow (at, step, node, bucket, type, started, done, failed, errors, retried, refused, unknown, wait, run)
	SELECT note_flow.at, note_flow.length_ms * interval '1 millisecond', note_flow.incarnation, note_flow.buckets[n + 1], note_flow.types[n + 1],
		   counts[n * 7 + 1], counts[n * 7 + 2], counts[n * 7 + 3], counts[n * 7 + 4], counts[n * 7 + 5],
		   counts[n * 7 + 6], counts[n * 7 + 7],
		   CASE WHEN waits[n * 21 + 1] IS NOT NULL THEN waits[n * 21 + 1 : n * 21 + 21] END,
		   CASE WHEN runs[n * 21 + 1] IS NOT NULL THEN runs[n * 21 + 1 : n * 21 + 21] END
	FROM generate_series(0, nrows - 1) n;
	GET DIAGNOSTICS noted = ROW_COUNT;
	RETURN noted;
END $$;

/*
 * twtasks_internal.clean_flow()
 *
 *		Merges the rows of one hour, the oldest first, once they are older than 48
 *		hours; and deletes rows older than 400 days, a batch in each call.
 *
 * Returns
 *		whether there is more to do
 *
 * Writes		twtasks.flow
 * Locks		changed rows; gives up after lock_timeout (1 s); call again
 */
CREATE FUNCTION twtasks_internal.clean_flow()
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
SET timezone = 'UTC'
SET enable_seqscan = off
SET jit = off
AS $$
DECLARE
	batch CONSTANT integer := 20000;
	moment CONSTANT timestamptz := twtasks.clock();
	past CONSTANT timestamptz := date_trunc('hour', moment - interval '48 hours');
	old CONSTANT timestamptz := moment - interval '400 days';
	merged timestamptz;
	hour timestamptz;
	deleted bigint;
BEGIN
	DELETE FROM twtasks.flow f
	WHERE f.ctid = ANY (ARRAY(SELECT g.ctid FROM twtasks.flow g WHERE g.at < old ORDER BY g.at LIMIT batch));
	GET DIAGNOSTICS deleted = ROW_COUNT;
	-- Hours are merged in order, so only rows after the last merged hour are left.
	SELECT f.at INTO merged FROM twtasks.flow f
	WHERE f.at < past AND f.node IS NULL ORDER BY f.at DESC LIMIT 1;
	SELECT date_trunc('hour', min(f.at)) INTO hour FROM twtasks.flow f
	WHERE f.at >= coalesce(merged + interval '1 hour', '-infinity') AND f.at < past;
	IF hour IS NULL THEN
		RETURN deleted = batch;
	END IF;
	WITH gone AS (
		DELETE FROM twtasks.flow f WHERE f.at >= hour AND f.at < hour + interval '1 hour'
		RETURNING f.*)
	INSERT INTO twtasks.flow (at, step, bucket, type, started, done, failed, errors, retried, refused, unknown, wait, run)
	SELECT hour, greatest(interval '1 hour', max(g.step)), g.bucket, g.type, sum(g.started), sum(g.done), sum(g.failed),
		   sum(g.errors), sum(g.retried), sum(g.refused), sum(g.unknown),
		   CASE WHEN count(g.wait) > 0 THEN ARRAY[
				sum(g.wait[1]), sum(g.wait[2]), sum(g.wait[3]), sum(g.wait[4]), sum(g.wait[5]), sum(g.wait[6]), sum(g.wait[7]),
				sum(g.wait[8]), sum(g.wait[9]), sum(g.wait[10]), sum(g.wait[11]), sum(g.wait[12]), sum(g.wait[13]), sum(g.wait[14]),
				sum(g.wait[15]), sum(g.wait[16]), sum(g.wait[17]), sum(g.wait[18]), sum(g.wait[19]), sum(g.wait[20]), sum(g.wait[21])] END,
		   CASE WHEN count(g.run) > 0 THEN ARRAY[
				sum(g.run[1]), sum(g.run[2]), sum(g.run[3]), sum(g.run[4]), sum(g.run[5]), sum(g.run[6]), sum(g.run[7]),
				sum(g.run[8]), sum(g.run[9]), sum(g.run[10]), sum(g.run[11]), sum(g.run[12]), sum(g.run[13]), sum(g.run[14]),
				sum(g.run[15]), sum(g.run[16]), sum(g.run[17]), sum(g.run[18]), sum(g.run[19]), sum(g.run[20]), sum(g.run[21])] END
	FROM gone g GROUP BY g.bucket, g.type;
	RETURN true;
EXCEPTION WHEN lock_not_available THEN
	RETURN false;
END $$;
