# 104_odd_text.pl -- text that PostgreSQL cannot store, in the replies of a worker
# and in reports by HTTP: it costs no other task, and its own task at most one try.

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use PostgreSQL::Test::Cluster;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Session;
use TwTasks::Sidecar;
use TwTasks::Wait;
use TwTasks::Web;

my $node = TwTasks::Cluster->create('main');
my $puppet = TwTasks::Ledger::handler('puppet.py');

$node->safe_psql('postgres', <<'SQL');
	CREATE DATABASE latin1 ENCODING 'LATIN1' TEMPLATE template0;
	GRANT twtasks_producer TO sidecar;
SQL
$node->install('latin1');

my %sessions =
  map { $_ => TwTasks::Session->new($node->connstr($_)) } 'postgres', 'latin1';

$_->query('SET client_encoding = UTF8') for values %sessions;

sub start_sidecar
{
	my ($database) = @_;

	return TwTasks::Sidecar->start(
		$node, $database,
		postgres => $node->connstr($database) . ' user=sidecar',
		handlers => [
			{
				types => [ 'PUPPET', 'WAITING' ],
				worker => [$puppet],
				processes => 1,
				retry => { delay => '1h', max_tries => 5 }
			},
			{ types => ['BROKEN'], command => ["/nowhere/\xe2\x82\xac"] }
		]);
}

# The members are JSON, so that Perl does not judge their characters.
sub add_reply
{
	my ($database, $members) = @_;
	my $line = "{\"id\":\"\@ID\@\",\"version\":\@VERSION\@,$members}\n";

	my $steps = encode_json([ [ 'write', $line ] ]);

	return $sessions{$database}->query(
		"SELECT task_id FROM twtasks.add_task('PUPPET', \$x\$$steps\$x\$)");
}

sub task_ok
{
	my ($database, $members, $expected, $what) = @_;
	my $id = add_reply($database, $members);
	my $state = sub {
		$sessions{$database}->query(
			"SELECT concat_ws(' ', status, tries, coalesce(message, error))
			FROM twtasks.tasks WHERE id = '$id' AND status IN ('DONE', 'ERROR')");
	};

	wait_for(sub { $state->() ne '' }, $what);
	return like($state->(), $expected, $what);
}

my $sidecar = start_sidecar('postgres');
my @waiting = map { $node->add_task('WAITING', data => '[["start"]]') } 1 .. 7;

wait_for(
	sub {
		$node->value("SELECT count(*) FROM twtasks.tasks WHERE status = 'PROCESSING'") == 7;
	},
	'seven tasks in flight in the one process');

task_ok('postgres', q("result":"done","message":"caf\udce9"), qr/^DONE 1 caf\xef\xbf\xbd$/, 'half of a surrogate pair in a message');
task_ok('postgres', q("result":"done","own":"\ud83d"), qr/^DONE 1$/, 'half of a surrogate pair in a member of its own');
task_ok('postgres', q("result":"done","message":"a\u0000b"), qr/^DONE 1 a\\x00b$/, 'a NUL in a message');
for my $bad ('\udce9', '\u0000')
{
	task_ok('postgres', qq("result":"done","outcome":{"a":"$bad"}),
		qr/^ERROR 1 reply is not as it should be: member "outcome" has /, "$bad in an outcome");
	task_ok('postgres', qq("result":"done","add":[{"type":"A","key":"$bad"}]),
		qr/^ERROR 1 reply is not as it should be: member "add" has /, "$bad in a task to add");
}
is( $node->value("SELECT count(*) FROM twtasks.tasks WHERE type = 'WAITING' AND status = 'PROCESSING' AND version = 1"),
	7, 'the neighbours are still in flight, in their first try');
$sidecar->stop;

# ---- an encoding without the character ----

is($sessions{latin1}->query("SELECT count(*) FROM twtasks.change_tasks('resume', '*', dry_run => true, key_prefix => 'a')"),
	0, 'tasks can be changed by the beginning of their keys');

$sidecar = start_sidecar('latin1');
wait_ok(
	sub { $sessions{latin1}->query(q(SELECT count(*) FROM twtasks.warnings WHERE warning = 'broken handler' AND detail ~ '/nowhere/.')) == 1 },
	'a fault with a character that LATIN1 lacks is a warning');
task_ok('latin1', q("result":"done","message":"caf\u00e9 \u20ac \u4e2d \u20ac"), qr/^DONE 1 caf\xc3\xa9 \? \? \?$/,
	'only the characters that LATIN1 lacks are replaced');
task_ok('latin1', q("result":"done","message":"caf\u00e9 \u4e00\u4e01\u4e02\u4e03\u4e04\u4e05\u4e06\u4e07\u4e08\u4e09\u4e0a"),
	qr/^DONE 1 caf\? \?{11}$/, 'of many such characters all are');
task_ok('latin1', q("result":"done","outcome":{"price":"\u20ac"}), qr/^ERROR 1 the handler's outcome could not be stored$/,
	'an outcome that LATIN1 cannot hold');

my $web = TwTasks::Web->start($node, 'web',
	postgres => $node->connstr('latin1') . ' user=sidecar',
	listen => '127.0.0.1:' . PostgreSQL::Test::Cluster::get_free_port());

# Reports the message for an accepted task, and returns the status and the state of the task.
sub report
{
	my ($message) = @_;
	my $id = add_reply('latin1', q("result":"accepted"));

	wait_for(
		sub {
			$sessions{latin1}->query(
				"SELECT count(*) FROM twtasks.tasks WHERE id = '$id' AND status = 'PROCESSING' AND incarnation IS NULL") == 1;
		},
		'a task that is accepted');
	my ($status) = $web->ask('POST', "/api/tasks/$id/finish", body => { version => 1, result => 'done', message => $message });

	return "$status " . $sessions{latin1}->query("SELECT concat_ws(' ', status, message) FROM twtasks.tasks WHERE id = '$id'");
}

is(report("caf\x{e9} \x{20ac}"), "200 DONE caf\xc3\xa9 ?", 'the same by HTTP');
is(report("caf\x{e9} " . join '', map { chr } 0x4e00 .. 0x4e0a), '200 DONE caf? ' . '?' x 11, 'many such characters by HTTP');

# ---- an error that names no such character ----

$sessions{latin1}->query(<<'SQL');
	CREATE SEQUENCE public.refused;
	GRANT USAGE ON SEQUENCE public.refused TO PUBLIC;
	CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		IF NEW.message LIKE 'AB%' THEN
			PERFORM nextval('public.refused');
			RAISE 'refused: 0x41 0x42' USING ERRCODE = '22P05';
		END IF;
		RETURN NULL;
	END $$;
	CREATE TRIGGER refuse AFTER INSERT ON twtasks.finished_task
	FOR EACH ROW EXECUTE FUNCTION public.refuse();
SQL
like(report('AB'), qr/^400 PROCESSING/, 'a report that a trigger refuses is answered');
cmp_ok($sessions{latin1}->query('SELECT last_value FROM public.refused'), '<', 10, 'it is not sent again');
task_ok('latin1', q("result":"done","message":"AB"), qr/^DONE 1 the handler's message could not be stored$/, 'nor an outcome of a worker');
$web->stop;
$sidecar->stop;
done_testing;
