--
-- queue.sql
--		Looking into the shared-memory queues: what was published, in words.
--
-- Included after tasks.sql by the tests that run with twtasks preloaded.
--

-- Takes all triggers of a bucket: their types in order of arrival, with the
-- version where it is not 0; whether a sweep was asked for; whether a time
-- was told.
CREATE PROCEDURE pg_temp.take(
	bucket text, OUT triggers text, OUT sweep boolean, OUT due boolean)
LANGUAGE plpgsql
AS $$
DECLARE
	ids uuid[];
	versions bigint[];
	types text[];
	priorities smallint[];
	sizes integer[];
	numbers integer[];
	due_at timestamptz;
	sweep_names text[];
	node_gone boolean;
BEGIN
	CALL twtasks_internal.next_triggers(ARRAY[bucket], 10000, 0, ids, versions, types, priorities,
							   sizes, numbers, due_at, sweep_names, node_gone);
	triggers := (SELECT string_agg(t.type || coalesce(' v' || nullif(t.version, 0), ''), ', ' ORDER BY t.n)
				 FROM unnest(types, versions) WITH ORDINALITY t(type, version, n));
	triggers := coalesce(triggers, 'none');
	sweep := cardinality(sweep_names) > 0;
	due := due_at IS NOT NULL;
END $$;

-- Empties the queue of other tests.  A session that has just ended still reports
-- that its node is gone, so wait until there is none.
DO $$
DECLARE
	until CONSTANT timestamptz := clock_timestamp() + interval '10 s';
BEGIN
	WHILE clock_timestamp() < until AND EXISTS (
		SELECT FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend')
	LOOP
		PERFORM pg_stat_clear_snapshot();
	END LOOP;
END $$;
CALL twtasks_internal.next_triggers('{default,a,b}', 10000, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) \g /dev/null
CALL twtasks_internal.next_triggers('{default,a,b}', 10000, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) \g /dev/null
