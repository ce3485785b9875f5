--
-- switch.sql
--		Turns twtasks.enabled from on to off, or from off to on, in the whole
--		server, and goes on when this session knows.
--
-- A session reads its configuration between two statements.  So this sends
-- many, which do nothing but pass a little time until the change has arrived;
-- together they give it 10 seconds.  In the SQL edition it is a row.
--
SELECT CASE WHEN twtasks.is_enabled() THEN 'off' ELSE 'on' END AS wanted, (twtasks.edition()).edition = 'sql' AS is_row \gset
\if :is_row
UPDATE twtasks.setting SET value = :'wanted' WHERE name = 'enabled';
\else
SELECT set_config('test.enabled', :'wanted', false) AS switched \gset
ALTER SYSTEM SET twtasks.enabled = :wanted;
SELECT pg_reload_conf() AS reloaded \gset
SELECT $$DO 'DECLARE until CONSTANT timestamptz := clock_timestamp() + interval ''10 ms'';
BEGIN
	WHILE current_setting(''twtasks.enabled'') <> current_setting(''test.enabled'')
		AND clock_timestamp() < until LOOP
	END LOOP;
END'$$
FROM generate_series(1, 1000) \gexec
\endif
