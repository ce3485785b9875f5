# 061_sql_batch.pl -- a SQL function that takes an array of tasks: one call for what waits,
# each effect exactly once though the sidecar is killed, and a task that fails, takes too
# long or is cancelled does not end its neighbours.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant BATCH => 40;

my $node = TwTasks::Cluster->create('main');

# Data: "gate" waits for a lock of the test, "bad" raises an error, "slow" takes too long,
# "refuse" is answered by an error of its own, "alone" raises an error for more than one task.
$node->value(<<'SQL');
	CREATE SCHEMA app;
	CREATE ROLE accountant NOLOGIN;
	GRANT accountant TO sidecar;
	CREATE TABLE app.effect (id uuid, size integer, who text);
	CREATE FUNCTION app.pay(tasks twtasks.task_input[]) RETURNS twtasks.task_answer[]
	LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
	DECLARE
		words CONSTANT text[] := ARRAY(SELECT t.data #>> '{}' FROM unnest(tasks) t);
	BEGIN
		INSERT INTO app.effect SELECT t.id, cardinality(tasks), current_user FROM unnest(tasks) t WHERE t.data <> '"refuse"';
		IF 'gate' = ANY (words) THEN
			PERFORM pg_advisory_xact_lock_shared(1);
		END IF;
		IF 'slow' = ANY (words) THEN
			PERFORM pg_sleep(600);	-- workload
		END IF;
		IF 'bad' = ANY (words) THEN
			RAISE EXCEPTION 'no such account' USING ERRCODE = 'P0042';
		END IF;
		IF 'alone' = ANY (words) AND cardinality(words) > 1 THEN
			RAISE EXCEPTION 'more than one row' USING ERRCODE = 'P0003';
		END IF;
		RETURN ARRAY(SELECT ROW(t.id, CASE WHEN t.data = '"refuse"' THEN 'error' END, NULL, 'paid', NULL)::twtasks.task_answer FROM unnest(tasks) t);
	END $$;
	CREATE FUNCTION app.one(task twtasks.task_input) RETURNS void LANGUAGE sql AS '';
	GRANT USAGE ON SCHEMA app, twtasks TO accountant;
	GRANT INSERT, SELECT ON app.effect TO accountant;
	CREATE ROLE alice LOGIN IN ROLE twtasks_operator;
SQL

my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [
		{ types => ['PAY'], sql => 'app.pay', role => 'accountant', batch => BATCH, timeout => '600s', retry => { delay => '10ms', max_tries => 2 } },
		{ types => ['HASTE'], sql => 'app.pay', role => 'accountant', batch => BATCH, timeout => '3s', retry => { delay => '1s', max_tries => 3 } },
		{ types => ['ONE'], sql => 'app.one', batch => BATCH }
	]);
my $gate = $node->session;
my $first;

# A task that keeps the function busy until open_gate().
sub close_gate
{
	$gate->query('BEGIN; SELECT pg_advisory_xact_lock(1)');
	$first = $node->add_task('PAY', data => '"gate"');
	wait_for(sub { $node->waits_for_lock('sql') == 1 }, 'the function at the gate');
	return;
}

sub open_gate
{
	$gate->query('COMMIT');
	wait_for(sub { $node->tasks("type = 'PAY' AND status NOT IN ('DONE', 'ERROR', 'CANCELLED')") == 0 }, 'all have ended');
	return;
}

# Tasks with these data, of one transaction.
sub add
{
	my ($type, @data) = @_;

	return split /\n/, $node->value("SELECT a.task_id FROM unnest('{" . join(',', @data) . "}'::text[]) d, LATERAL twtasks.add_task('$type', to_jsonb(d)) a");
}

sub ends_of
{
	my @ids = @_;

	return $node->value("SELECT string_agg(DISTINCT concat_ws(' ', status, tries, message, error), ', ') FROM twtasks.tasks WHERE id IN ('" . join("', '", @ids) . "')");
}

sub effects_of
{
	my @ids = @_;

	return $node->value("SELECT count(*) || ' ' || count(DISTINCT id) FROM app.effect WHERE id IN ('" . join("', '", @ids) . "')");
}

# ---- one call ----

once_ok(
	sub {
		close_gate();
		my @ids = add('PAY', ('good') x (2 * BATCH));
		open_gate();
		return ends_of(@ids) eq 'DONE 1 paid'
		  && $node->value("SELECT max(size) FROM app.effect WHERE id IN ('" . join("', '", @ids) . "')") == BATCH;
	},
	'what waits shares a call, of at most as many as "batch" says');
is($node->value('SELECT count(*) FROM (SELECT id FROM app.effect GROUP BY id HAVING count(*) > 1) twice'), '0', '... each once');
is($node->value('SELECT max(size) FROM app.effect'), BATCH, '... and never more');
is($node->value('SELECT string_agg(DISTINCT who, \',\') FROM app.effect'), 'accountant', '... as the role of the handler');

# ---- a function that fails for each batch, and for no task ----

close_gate();
my @alone = add('PAY', ('alone') x BATCH);
my $from = $sidecar->log_position;
open_gate();
is(ends_of(@alone), 'DONE 1 paid', 'tasks that fail together are done alone, in their first try');
ok($sidecar->wait_for_log(qr/WARN .*handler function app\.pay\(twtasks\.task_input\[\]\) failed for \d+ tasks together, and for none of them alone: more than one row/, undef, $from),
	'... and the log tells of it');

# ---- tasks that fail ----

close_gate();
my @good = add('PAY', ('good') x 20);
my ($bad, $refused) = add('PAY', 'bad', 'refuse');
push @good, add('PAY', ('good') x 20);
open_gate();
is(ends_of($first, @good), 'DONE 1 paid', 'an error of one task does not count for its neighbours');
is(effects_of($first, @good), '41 41', '... which have their effect once');
is(ends_of($bad), 'ERROR 2 no such account (SQLSTATE P0042)', '... but for its own task, as often as configured');
is(ends_of($refused), 'ERROR 1 paid', 'an answer is for its task alone');
is(effects_of($bad, $refused), '0 0', '... and neither has an effect');

# ---- time ----

my @haste = add('HASTE', ('good') x 5, 'slow', ('good') x 5);
my ($slow) = splice @haste, 5, 1;

wait_for(sub { $node->tasks("type = 'HASTE' AND status IN ('DONE', 'ERROR')") == 11 }, 'the ends of a call that takes too long');
like(ends_of($slow), qr/^ERROR 3 canceling statement due to statement timeout.*57014/, 'a task that takes too long is given up');
like(ends_of(@haste), qr/^(DONE [123] paid(, )?)+$/, '... and its neighbours are done');	# busy machines make a try late
is(effects_of(@haste, $slow), '10 10', '... each once');

# ---- an operator ----

close_gate();
my ($version) = (split / /, $node->state_of($first))[1];
my $alice = $node->session('alice');

$alice->query("SELECT * FROM twtasks.request_cancel('$first', $version, 'wrong file')");
wait_ok(sub { $node->status_of($first) eq 'CANCELLED' }, 'a task of a call is cancelled');
open_gate();
is(effects_of($first), '0 0', '... without effect');

# ---- a killed sidecar ----

close_gate();
@good = add('PAY', ('good') x 30);
$sidecar->kill9;
$sidecar->run;
open_gate();
is(ends_of($first, @good), 'DONE 1 paid', 'tasks are done though the sidecar was killed in a call');
is(effects_of($first, @good), '31 31', '... with their effect exactly once');

# ---- a function that takes one task ----

my $one = $node->add_task('ONE');
my $why = "SELECT tries || ' ' || error FROM twtasks.tasks WHERE id = '$one' AND status = 'WAITING'";

my $said;
wait_ok(sub { ($said = $node->value($why)) ne '' }, 'a task waits whose function takes no array');
like($said, qr/^0 handler function "app.one" does not exist .*It takes one task: leave the option "batch"/, '... with the reason, and no try is counted');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
