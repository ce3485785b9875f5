# 063_sql_confined.pl -- a SQL function leaves no trace in its session: what it
# would leave is refused or undone, whether it succeeds or fails, for the
# tasks beside it in the same transaction and for all that come later.

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Session;

my $node = TwTasks::Cluster->create('main');

$node->value(<<'SQL');
	CREATE ROLE guest NOLOGIN;
	GRANT guest TO sidecar;
	GRANT twtasks_producer, twtasks_worker TO guest;
	CREATE SCHEMA app;
	GRANT CREATE, USAGE ON SCHEMA app TO guest;
	GRANT USAGE ON SCHEMA app TO sidecar;
	CREATE EXTENSION pg_trgm SCHEMA app;
	CREATE TABLE app.target (n integer);
	GRANT ALL ON app.target TO guest;

	-- Each of its triggers defers what is deferrable, and leaves one event more.
	CREATE TABLE app.deferred (rest integer, statements text);
	CREATE TABLE app.fired (who name);
	GRANT ALL ON app.deferred, app.fired TO guest;
	CREATE FUNCTION app.defer_again() RETURNS trigger
	LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO app.fired VALUES (current_user);
		SET CONSTRAINTS ALL DEFERRED;
		IF NEW.rest > 0 THEN
			INSERT INTO app.deferred VALUES (NEW.rest - 1, NEW.statements);
		ELSE
			EXECUTE NEW.statements;
		END IF;
		RETURN NULL;
	END $$;
	CREATE CONSTRAINT TRIGGER again AFTER INSERT ON app.deferred
		DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION app.defer_again();

	CREATE SEQUENCE app.numbers;
	GRANT ALL ON app.numbers TO guest, sidecar;
	CREATE FUNCTION app.last_number() RETURNS text
	LANGUAGE plpgsql AS $$
	BEGIN
		RETURN concat_ws(' ', lastval(), currval('app.numbers'));
	EXCEPTION WHEN object_not_in_prerequisite_state THEN
		RETURN NULL;
	END $$;

	-- What there is of a session that a task could find.
	CREATE FUNCTION app.traces() RETURNS text
	LANGUAGE sql AS $$
		SELECT concat_ws(E'\n',
			(SELECT 'set ' || string_agg(name || '=' || setting, ' ' ORDER BY name)
			 FROM pg_catalog.pg_settings
			 WHERE setting IS DISTINCT FROM reset_val AND context = 'user'
			   AND name NOT IN ('search_path', 'transaction_isolation', 'transaction_read_only')),
			'placeholder ' || nullif(current_setting('leak.value', true), ''),
			'users ' || current_user || ' ' || session_user,
			'numbers ' || app.last_number(),
			(SELECT 'listens ' || string_agg(c, ' ') FROM pg_catalog.pg_listening_channels() c),
			(SELECT 'prepared ' || string_agg(name, ' ') FROM pg_catalog.pg_prepared_statements),
			(SELECT 'cursors ' || string_agg(name, ' ') FROM pg_catalog.pg_cursors WHERE name <> ''),
			(SELECT 'locks ' || string_agg(objid::text || mode, ' ') FROM pg_catalog.pg_locks
			 WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND objid < 1000),
			(SELECT 'temporary ' || string_agg(d.classid::regclass || ' ' || d.objid, ', ')
			 FROM pg_catalog.pg_depend d
			 WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = pg_my_temp_schema()))
	$$;

	-- Does what the task's data says; a witness tells what it sees.
	CREATE FUNCTION app.obey(task twtasks.task_input) RETURNS twtasks.task_result
	LANGUAGE plpgsql AS $$
	BEGIN
		IF task.type = 'WITNESS' THEN
			RETURN ('done', NULL, app.traces() || E'\n' || random())::twtasks.task_result;
		END IF;
		EXECUTE task.data->>0;
		RETURN NULL;
	END $$;
SQL

my $incarnation;
{
	# A node of its own: no session of a sidecar that executes tasks has one.
	my $keeper = $node->session('sidecar');
	$incarnation =
	  $keeper->query('SELECT twtasks_internal.start_node(\'keeper\', \'1 hour\')');
	$node->{keeper} = $keeper;
}
my $session;
my $token = 0;

sub fresh_session
{
	$session->close if $session;
	$session = $node->session('sidecar');
	$session->query("SET search_path = pg_catalog, pg_temp");
	return;
}

# Executes tasks of these types and data in one transaction; returns their
# results in order, and what the witnesses said, by number.
sub execute
{
	my (@tasks) = @_;
	my @ids;

	foreach my $task (@tasks)
	{
		push @ids,
		  $node->add_task($task->[0], data => encode_json([ $task->[1] ]));
	}
	my $list = join ',', @ids;
	my $n = @ids;
	my $said = $session->try(
		"SELECT e.id || ' ' || e.result || coalesce(': ' || e.message, '')
		FROM twtasks_internal.execute_tasks('app.obey', 'guest', '{$list}',
			array_fill(0, ARRAY[$n]), $incarnation, " . ++$token . ",
			array_fill(60000, ARRAY[$n]), array_fill('error'::twtasks.stuck_rule, ARRAY[$n])) e")
	  // '';
	my %results = map { split / /, $_, 2 } grep { /^[0-9a-f-]{36} / }
	  split /\n/, $said;
	my @witnessed = map {
		$node->value(
			"SELECT message FROM twtasks.finished_task WHERE id = '$_'")
	} @ids;

	return (
		results => [ map { $results{$_} // 'none' } @ids ],
		said => $said,
		witnessed => \@witnessed);
}

sub without_chance
{
	return $_[0] =~ s/\n[^\n]*\z//r;
}

# ---- what a clean session looks like ----

fresh_session();
my $clean = $session->query('SELECT app.traces()');
my %first = execute([ 'WITNESS', '' ]);
my $clean_inside = without_chance($first{witnessed}[0]);

like($clean, qr/\Ausers sidecar sidecar\z/m, 'a session starts without traces');
like($clean_inside, qr/\Ausers guest sidecar\z/m, 'a handler begins without traces');

# ---- attacks ----

# Statements of a trigger that fires at the commit, unless all that is deferred
# has been made to fire before.
sub after_commit
{
	my ($statements) = @_;

	return
	  "SET CONSTRAINTS ALL DEFERRED; INSERT INTO app.deferred VALUES (2, \$x\$$statements\$x\$)";
}

# Each is tried alone and followed by an error; in a session that has run
# others, and in a new one; twice in one transaction, a witness between.
my $refused = qr/^failed: cannot execute .* in a SQL handler\b.*0A000/;
my @attacks = (
	[ 'SET', 'SET work_mem = \'1MB\'; SET search_path = app' ],
	[ 'SET LOCAL', 'SET LOCAL enable_seqscan = off' ],
	[ 'a setting of nobody', 'SET leak.value = \'secret\'' ],
	[ 'set_config()', 'SELECT set_config(\'datestyle\', \'German\', false)' ],
	[ 'encoding', 'SET client_encoding = \'LATIN1\'' ],
	[
		'characteristics',
		'SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY, ISOLATION LEVEL SERIALIZABLE'
	],
	[
		'read only', 'SET TRANSACTION READ ONLY'
	],
	[ 'RESET ALL', 'SET work_mem = \'2MB\'; RESET ALL' ],
	[ 'timeouts', 'SET statement_timeout = 0; SET lock_timeout = 1' ],
	[
		'settings of a module',
		'SET pg_trgm.similarity_threshold = 0.9;
		SELECT app.similarity(\'a\', \'b\'); SET pg_trgm.similarity_threshold = 0.8'
	],
	[ 'role', 'SET ROLE sidecar', qr/^failed: cannot set parameter "role"/ ],
	[ 'RESET ROLE', 'RESET ROLE', qr/^failed: cannot set parameter "role"/ ],
	[ 'role in DO', 'DO $do$ BEGIN SET ROLE sidecar; END $do$', qr/^failed: cannot set parameter "role"/ ],
	[ 'COPY of a program', 'COPY app.target FROM PROGRAM \'id\'', qr/^failed: .*external program/ ],
	[
		'session user',
		'SET SESSION AUTHORIZATION sidecar',
		qr/^failed: cannot set parameter "session_authorization"/
	],
	[ 'LISTEN', 'LISTEN leak', $refused ],
	[ 'UNLISTEN', 'UNLISTEN *', $refused ],
	[ 'PREPARE', 'PREPARE leak AS SELECT 1', $refused ],
	[ 'DEALLOCATE', 'DEALLOCATE ALL', $refused ],
	[ 'DISCARD', 'DISCARD TEMP', $refused ],
	[ 'LOAD', 'LOAD \'pg_trgm\'', $refused ],
	[
		'cursor that is held',
		'DECLARE leak CURSOR WITH HOLD FOR SELECT 1', $refused
	],
	[ 'cursor', 'DECLARE leak CURSOR FOR SELECT 1' ],
	[
		'cursor of PL/pgSQL',
		'DO $x$ DECLARE leak CURSOR FOR SELECT 1; BEGIN OPEN leak; END $x$'
	],
	[ 'temporary table', 'CREATE TEMP TABLE leak (t text PRIMARY KEY, s serial)' ],
	[ 'temporary table of a query', 'CREATE TEMP TABLE leak AS SELECT 1 AS n' ],
	[
		'temporary table that a cursor reads',
		'CREATE TEMP TABLE leak AS SELECT 1 AS n; DECLARE leak CURSOR FOR SELECT * FROM leak'
	],
	[
		'temporary table with work left',
		'CREATE TEMP TABLE leak (n integer PRIMARY KEY, m integer
			REFERENCES leak DEFERRABLE INITIALLY DEFERRED);
		INSERT INTO leak VALUES (1, 1)'
	],
	[
		'temporary table that is gone',
		'CREATE TEMP TABLE leak (n integer); DROP TABLE leak;
		CREATE TEMP TABLE leak (n integer) ON COMMIT DROP'
	],
	[
		'temporary function, type, view, sequence, operator',
		'CREATE FUNCTION pg_temp.leak(integer, integer) RETURNS integer LANGUAGE sql AS \'SELECT 1\';
		CREATE TYPE pg_temp.leak AS (n integer); CREATE DOMAIN pg_temp.leak2 AS integer;
		CREATE TEMP VIEW leak3 AS SELECT 1 AS n; CREATE TEMP SEQUENCE leak4;
		CREATE OPERATOR pg_temp.#+# (LEFTARG = integer, RIGHTARG = integer, FUNCTION = pg_temp.leak);
		CREATE COLLATION pg_temp.leak5 FROM "C";
		CREATE TEXT SEARCH DICTIONARY pg_temp.leak6 (TEMPLATE = simple)'
	],
	[ 'advisory lock', 'SELECT pg_advisory_lock(17), pg_advisory_lock_shared(18), pg_advisory_lock(19)' ],
	[
		'advisory locks of both kinds',
		'SELECT pg_advisory_lock(1017), pg_advisory_lock(1017), pg_advisory_xact_lock(1017)'
	],
	[
		'caught errors',
		'DO $x$ BEGIN
			PERFORM pg_advisory_lock(17);
			CREATE TEMP TABLE leak (n integer);
			BEGIN
				SET work_mem = \'3MB\';
				EXECUTE \'DECLARE leak CURSOR FOR SELECT 1\';
				PERFORM 1 / 0;
			EXCEPTION WHEN division_by_zero THEN NULL; END;
			PERFORM pg_advisory_lock(18);
		END $x$'
	],
	[
		'triggers that defer again',
		after_commit('SET search_path = app; SET leak.value = \'secret\'; CREATE TEMP TABLE leak (n integer);
			SELECT pg_advisory_lock(17); SELECT nextval(\'app.numbers\')')
	],
	[ 'PREPARE in one', after_commit('PREPARE leak AS SELECT 1'), $refused ],
	[ 'LISTEN in one', after_commit('LISTEN leak'), $refused ],
	[
		'cursor that is held in one',
		after_commit('DECLARE leak CURSOR WITH HOLD FOR SELECT 1'), $refused
	],
	[
		'role in one', after_commit('SET ROLE sidecar'),
		qr/^failed: cannot set parameter "role"/
	],
	[ 'number of a sequence', 'SELECT nextval(\'app.numbers\')' ],
	[ 'seed', 'SELECT setseed(0.5); SELECT random()' ],
	[
		'cursors of others',
		'DO $x$ DECLARE p text; BEGIN
			FOR p IN SELECT name FROM pg_cursors UNION ALL
					 SELECT format(\'<unnamed portal %s>\', i) FROM generate_series(1, 200) i LOOP
				BEGIN
					EXECUTE format(\'FETCH ALL FROM %I\', p);
					EXECUTE format(\'CLOSE %I\', p);
				EXCEPTION WHEN OTHERS THEN NULL; END;
			END LOOP;
		END $x$'
	],
	[
		'another handler',
		'SELECT twtasks_internal.execute_tasks(\'app.obey\', NULL, \'{}\', \'{}\', 1, 1, \'{}\', \'{}\')'
	],
	[
		'a handler within',
		'SELECT twtasks_internal.execute_tasks(\'app.obey\', NULL, ARRAY(SELECT task_id FROM twtasks.add_task(\'WITNESS\')),
			\'{0}\', ' . $incarnation . ', 1, \'{1000}\', \'{error}\')'
	]);

# The second result of random() after that seed.
my $known =
  $node->value('SELECT setseed(0.5); SELECT random(); SELECT random()');
$known =~ s/.*\n//s;

sub attack_in_session
{
	my ($name, $sql, $expected) = @_;
	my %batch = execute(
		[ 'ATTACK', $sql ],
		[ 'WITNESS', '' ],
		[ 'ATTACK', $sql ],
		[ 'ATTACK', "$sql; SELECT 1 / 0" ],
		[ 'WITNESS', '' ]);
	my @results = @{ $batch{results} };
	my @wrong;

	push @wrong, "result: $_"
	  foreach grep { $_ !~ ($expected // qr/^finished$/) } @results[ 0, 2 ];
	push @wrong, "failed one: $results[3]" unless $results[3] =~ /^failed: /;
	foreach my $witness (1, 4)
	{
		my $saw = $batch{witnessed}[$witness];

		if ($results[$witness] ne 'finished')
		{
			push @wrong, "witness: $results[$witness] $batch{said}";
		}
		else
		{
			push @wrong, "a witness saw: $saw"
			  if without_chance($saw) ne $clean_inside;
			push @wrong, "known chance: $saw" if $saw =~ /\n\Q$known\E\z/;
		}
	}
	my $left = $session->try('SELECT app.traces()') // 'no session';

	# locks of the transaction are gone as well now
	push @wrong, 'locks are left'
	  unless $session->query(
		'SELECT count(*) FROM pg_locks
		WHERE locktype = \'advisory\' AND pid = pg_backend_pid()') == 0;

	push @wrong, "left: $left" if $left ne $clean;
	return @wrong;
}

foreach my $attack (@attacks)
{
	my ($name, @rest) = @$attack;
	my @wrong = attack_in_session(@$attack);

	fresh_session();
	push @wrong, map { "new session: $_" } attack_in_session(@$attack);
	is(join("\n", @wrong), '', "the handler leaves no trace of: $name");
}

is($node->value('SELECT string_agg(DISTINCT who, \' \') FROM app.fired'),
	'guest', 'no trigger has fired as another role');

# ---- a handler that breaks off the whole statement ----

$session->query('SET statement_timeout = 200');
my %late = execute(
	[
		'ATTACK',
		'SELECT pg_advisory_lock(17); SELECT setseed(0.5); CREATE TEMP TABLE leak (n integer); SELECT pg_sleep(60)	-- workload'
	]);
like($late{said}, qr/57014.*statement timeout/, 'a function that takes too long is cancelled');
is($late{results}[0], 'none', 'a cancelled function ends the statement');
my %caught = execute(
	[
		'ATTACK',
		'DO $x$ BEGIN PERFORM pg_sleep(60);	-- workload
		EXCEPTION WHEN query_canceled THEN NULL; END $x$'
	]);
like($caught{said}, qr/statement timeout.*57014/,
	'a function that catches the cancellation is ended too');
$session->query('SET statement_timeout = 0');
is($session->query('SELECT app.traces()'),
	$clean, 'no trace of the ended function is left');

# ---- where a node's life is tied to the session ----

$session = $node->{keeper};
$session->query('SET search_path = pg_catalog, pg_temp');
my %keeper = execute([ 'ATTACK', 'SELECT pg_advisory_lock(17)' ]);
is($keeper{results}[0], 'finished', 'a handler in a node\'s own session succeeds');
is( $session->query(
		'SELECT count(*) FROM pg_locks WHERE locktype = \'advisory\'
		AND mode = \'ExclusiveLock\' AND pid = pg_backend_pid() AND classid = x\'74776e6f\'::int'
	),
	1,
	'a handler in a node\'s own session does not end the node');

done_testing();
