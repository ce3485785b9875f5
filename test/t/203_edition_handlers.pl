# 203_edition_handlers.pl -- a sidecar runs SQL handlers on the SQL edition, with roles and
# with one role: a handler has the rights of its owner, no more, and leaves nothing behind.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

# Functions that both editions run, in a schema of the application.
my $functions = <<'SQL';
	CREATE SCHEMA app;
	CREATE TABLE app.account (name text PRIMARY KEY, balance integer NOT NULL CHECK (balance >= 0));
	INSERT INTO app.account VALUES ('ada', 100), ('bob', 0);
	CREATE TABLE app.note (who text, what text);
	CREATE FUNCTION app.note() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO app.note VALUES (current_user, 'deferred');
		RETURN NULL;
	EXCEPTION WHEN insufficient_privilege THEN
		RETURN NULL;
	END $$;
	CREATE TABLE app.noted (who text);
	CREATE CONSTRAINT TRIGGER noted AFTER INSERT ON app.noted DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION app.note();
	-- Triggers that defer others: again until n is 0, or for ever; and with a table emptied between.
	CREATE TABLE app.again (n integer);
	CREATE FUNCTION app.again() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		SET CONSTRAINTS ALL DEFERRED;
		INSERT INTO app.again SELECT NEW.n - 1 WHERE NEW.n <> 0;
		RETURN NULL;
	END $$;
	CREATE CONSTRAINT TRIGGER again AFTER INSERT ON app.again DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION app.again();
	CREATE TABLE app.ping (n integer);
	CREATE TABLE app.pong (n integer);
	CREATE FUNCTION app.emptied() RETURNS trigger LANGUAGE plpgsql AS $$
	DECLARE
		other CONSTANT text := CASE TG_TABLE_NAME WHEN 'ping' THEN 'pong' ELSE 'ping' END;
	BEGIN
		IF NEW.n = 1 THEN
			SET CONSTRAINTS ALL DEFERRED;
			EXECUTE format('TRUNCATE app.%I', other);
			EXECUTE format('INSERT INTO app.%I VALUES (1)', other);
		END IF;
		RETURN NULL;
	END $$;
	CREATE CONSTRAINT TRIGGER emptied AFTER INSERT ON app.ping DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION app.emptied();
	CREATE CONSTRAINT TRIGGER emptied AFTER INSERT ON app.pong DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION app.emptied();
	CREATE TABLE app.deferred (sql text);
	CREATE FUNCTION app.deferred() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN EXECUTE NEW.sql; RETURN NULL; END $$;
	CREATE CONSTRAINT TRIGGER deferred AFTER INSERT ON app.deferred DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION app.deferred();
	CREATE TABLE app.grabbed (by text);
	CREATE FUNCTION app.grabbed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO app.grabbed VALUES (current_user); RETURN NULL; END $$;
	CREATE FUNCTION app.transfer(task twtasks.task_input) RETURNS twtasks.task_result
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = app, pg_temp AS $$
	BEGIN
		CREATE TEMPORARY TABLE step (n integer);
		SET statement_timeout = '1ms';
		UPDATE account SET balance = balance + (task.data ->> 'amount')::integer WHERE name = task.data ->> 'to';
		UPDATE account SET balance = balance - (task.data ->> 'amount')::integer WHERE name = task.data ->> 'from';
		PERFORM twtasks.add_task('RECEIPT', task.data);
		PERFORM twtasks.set_outcome(jsonb_build_object('by', current_user));
		RETURN NULL;
	END $$;
	CREATE FUNCTION app.defers(task twtasks.task_input) RETURNS void
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = app, pg_temp AS $$
	BEGIN
		EXECUTE task.data ->> 'sql';
		INSERT INTO noted VALUES (current_user);
	END $$;
	CREATE FUNCTION app.refused(task twtasks.task_input) RETURNS void
	LANGUAGE sql SET search_path = app, pg_temp AS '';
	CREATE FUNCTION app.climbs(task twtasks.task_input) RETURNS void
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = app, pg_temp AS $$ BEGIN EXECUTE task.data ->> 'sql'; END $$;
SQL

sub sidecar_of
{
	my ($node, %config) = @_;

	return TwTasks::Sidecar->start(
		$node, 'a',
		sweep    => '1h',
		handlers => [
			{ types => ['TRANSFER'], sql => 'app.transfer', ($config{role} ? (role => $config{role}) : ()), retry => { delay => '10ms', max_tries => 2 } },
			{ types => ['DEFERS'], sql => 'app.defers' },
			{ types => ['CLIMBS'], sql => 'app.climbs', retry => { max_tries => 1 } },
			{ types => ['MISSING'], sql => 'app.missing' },
			{ types => ['REFUSED'], sql => 'app.refused' },
			{ types => ['RECEIPT'], noop => JSON::PP::true }
		],
		($config{postgres} ? (postgres => $config{postgres}) : ()));
}

# Deferred triggers of handlers; $climb runs a statement in a handler, and returns how it ended.
sub test_deferred
{
	my ($node, $climb) = @_;
	my $defer = 'SET CONSTRAINTS ALL DEFERRED; INSERT INTO';

	is($climb->('PREPARE p AS SELECT 1'), 'DONE', "a handler may prepare a statement: $_") for 1 .. 2;
	is($climb->("$defer again VALUES (3)"), 'DONE', 'a deferred trigger may defer others');
	is($node->value('SELECT count(*) FROM app.again'), '4', '... which fire');
	like($climb->("$defer again VALUES (-1)"), qr/^ERROR deferred triggers defer others again and again \(SQLSTATE 54001\)/, '... not without end');
	like($climb->("SET CONSTRAINTS ALL IMMEDIATE; INSERT INTO pong VALUES (0); $defer ping VALUES (1)"), qr/^ERROR .*SQLSTATE 54001/, '... even if the table is emptied');
	return;
}

# A deferred trigger has no rights, where there are roles.
sub test_rights
{
	my ($node, $climb) = @_;

	$node->value(<<'TEXT');
		CREATE ROLE bank;
		CREATE FUNCTION app.pay(task twtasks.task_input) RETURNS void
		LANGUAGE sql SECURITY DEFINER SET search_path = app, pg_temp AS 'INSERT INTO noted VALUES (''paid'')';
		REVOKE ALL ON FUNCTION app.pay FROM PUBLIC;
		GRANT EXECUTE ON FUNCTION app.pay TO twtasks_caller;
		GRANT bank TO sidecar;
TEXT
	for ('SELECT app.pay(NULL)', 'SET ROLE bank', 'ALTER FUNCTION twtasks_internal.call_void_handler SET search_path = app',
		'ALTER FUNCTION twtasks_internal.fire_deferred SET search_path = app', 'REVOKE EXECUTE ON FUNCTION twtasks_internal.fire_deferred FROM twtasks_owner',
		'GRANT EXECUTE ON FUNCTION twtasks_internal.fire_deferred TO bank', 'ALTER FUNCTION twtasks_internal.fire_deferred STRICT',
		'ALTER FUNCTION twtasks_internal.fire_deferred SECURITY INVOKER')
	{
		like($climb->("SET CONSTRAINTS ALL DEFERRED; INSERT INTO deferred VALUES ('$_')"), qr/^ERROR .*SQLSTATE 42501/, "a deferred trigger may not: $_");
	}
	return;
}

# Checks that hold in both: $add adds a task and returns its id; $fault is why a handler is refused.
sub test_handlers
{
	my ($node, $owner, $fault, $add) = @_;
	my @good = map { $add->('TRANSFER', '{"from": "ada", "to": "bob", "amount": 10}') } 1 .. 5;
	my $bad = $add->('TRANSFER', '{"from": "bob", "to": "ada", "amount": 1000}');
	my @defers = map { $add->('DEFERS', "{\"sql\": \"$_\"}") } 'SELECT 1', 'SET CONSTRAINTS ALL DEFERRED';
	my @climbs = map { $add->('CLIMBS', "{\"sql\": \"$_\"}") } 'COMMIT', 'SET ROLE postgres', 'ALTER FUNCTION twtasks_internal.call_handler SECURITY INVOKER';
	my @waits = map { $add->($_, '{}') } qw(MISSING REFUSED);

	wait_ok(sub { $node->value('SELECT count(*) FROM twtasks.tasks WHERE type NOT IN (\'MISSING\', \'REFUSED\') AND status NOT IN (\'DONE\', \'ERROR\')') eq '0' },
		"$owner: the handlers have run");
	is($node->value('SELECT count(*) FROM twtasks.tasks WHERE type = \'TRANSFER\' AND status = \'DONE\''), '5', '... also one after the other in a session that they change');
	is($node->value('SELECT string_agg(name || balance, \' \' ORDER BY name) FROM app.account'), 'ada50 bob50', '... each once, and the one that failed not at all');
	is($node->value('SELECT count(*) FROM twtasks.tasks WHERE type = \'RECEIPT\''), '5', '... with the tasks that they added');
	like($node->value("SELECT status || ' ' || tries || ' ' || error FROM twtasks.tasks WHERE id = '$bad'"),
		qr/^ERROR 2 new row for relation "account" violates check constraint.*, in PL\/pgSQL function transfer\(twtasks.task_input\) line \d+ at SQL statement \(SQLSTATE 23514\)/,
		'a handler that raises an error is tried again, and then left to people');
	is($node->value('SELECT DISTINCT outcome ->> \'by\' FROM twtasks.finished_task WHERE type = \'TRANSFER\''), $owner, 'a handler runs as its owner, and sets an outcome');
	is($node->value('SELECT count(*) FROM twtasks.tasks WHERE type = \'CLIMBS\' AND status = \'ERROR\''), '3', 'a handler neither commits, nor takes a role, nor changes what calls it');
	is($node->value('SELECT count(*) FROM app.noted'), '2', 'a handler may leave deferred triggers');
	is($node->value("SELECT string_agg(status || ' ' || tries, ',') FROM twtasks.tasks WHERE id IN ('$waits[0]', '$waits[1]') AND status IN ('SUBMITTED', 'WAITING')") =~ s/[A-Z]+ //gr, '0,0',
		'a task whose handler is missing or refused waits for it, and counts no try');
	wait_ok(sub { $node->value("SELECT count(*) FROM twtasks.warnings WHERE detail LIKE '%$fault%'") ne '0' }, '... and a warning names the reason');
	return;
}

my $node = TwTasks::Cluster->create('main', queue => 'notify', edition => 'sql');
$node->value($functions);
$node->value(<<'SQL');
	CREATE ROLE team;
	GRANT twtasks_producer TO team;
	GRANT team TO sidecar;
	GRANT USAGE ON SCHEMA app TO PUBLIC;
	GRANT ALL ON ALL TABLES IN SCHEMA app TO team;
	GRANT INSERT, TRUNCATE ON app.again, app.ping, app.pong, app.grabbed TO PUBLIC;
	ALTER FUNCTION app.transfer OWNER TO team;
	ALTER FUNCTION app.defers OWNER TO team;
	ALTER FUNCTION app.climbs OWNER TO team;
SQL
my $sidecar = sidecar_of($node, role => 'team');
my $add = sub {
	my ($type, $data) = @_;
	return $node->value("SELECT task_id FROM twtasks.add_task('$type', '$data')");
};

test_handlers($node, 'team', '"app.refused" is not SECURITY DEFINER', $add);
is($node->value('SELECT string_agg(who, \' \') FROM app.note'), 'team', 'a trigger that a handler has deferred itself has no rights, not even the ones of the sidecar');
$node->value('CREATE CONSTRAINT TRIGGER grabbed AFTER UPDATE ON twtasks.task DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION app.grabbed()');
my $climb = sub {
	my ($sql) = @_;
	my $id = $node->value(q{SELECT task_id FROM twtasks.add_task('CLIMBS', jsonb_build_object('sql', $sql$} . $sql . '$sql$::text))');
	my $end;

	wait_ok(sub { ($end = $node->value("SELECT concat_ws(' ', status, error) FROM twtasks.tasks WHERE id = '$id'")) =~ /^(?:DONE|ERROR)/ }, 'a handler has run');
	return $end;
};
test_deferred($node, $climb);
test_rights($node, $climb);
is($node->value('SELECT string_agg(DISTINCT by, \' \') FROM app.grabbed WHERE by NOT IN (\'sidecar\', \'twtasks_owner\')'), '',
	'a deferrable trigger on the tasks never fires with the handler');
isnt($node->value('SELECT count(*) FROM app.grabbed WHERE by = \'twtasks_owner\''), '0', '... but with the grab');
is($sidecar->stop, 0, 'the sidecar stops in order');

my $solo = TwTasks::Cluster->create('solo', queue => 'notify', edition => 'one-role');
my $installer = $solo->session('installer');
$installer->query($functions);
$solo->value('ALTER FUNCTION app.refused OWNER TO postgres');
my $one = sidecar_of($solo, postgres => $solo->connstr('postgres') . ' user=installer');
test_handlers($solo, 'installer', '"app.refused" belongs to role "postgres"',
	sub { my ($type, $data) = @_; return $installer->query("SELECT task_id FROM twtasks.add_task('$type', '$data')"); });
is($one->stop, 0, 'its sidecar stops in order');

done_testing();
