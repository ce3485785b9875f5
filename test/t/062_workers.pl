# 062_workers.pl -- a worker may answer, break the protocol or die: each of
# its tasks ends in the state that was promised, the database says why, and
# the tasks of other workers are not touched.

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;
my $puppet = TwTasks::Ledger::handler('puppet.py');
my $foreign = '6f2c0d0a-0f5e-4a35-9f0e-0c3f7c1f2b11';

sub worker
{
	my ($type, $argv, %options) = @_;

	return {
		types => [$type],
		worker => $argv,
		retry => { delay => '1h', max_tries => 5 },
		%options
	};
}

# The first of those that are deaf is late; what comes after it may take the time
# that a program takes to start.
$node->value('SELECT twtasks.configure_type(\'DEAF\', timeout => \'2s\')');

my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	log => { level => 'debug' },
	handlers => [
		worker('PUPPET', [$puppet]),
		worker('OTHER', $ledger->worker('other')),
		worker('DIGEST', [ TwTasks::Ledger::handler('digest_worker.py') ]),
		worker('LATE', [$puppet], timeout => '2s', grace => '200ms'),
		worker(
			'DEAF', [ $puppet, 'deaf' ],
			types => [ 'DEAF', 'DEAF|*' ],
			grace => '200ms'),
		worker('MISSING', ['/nonexistent/worker'])
	]);

# Adds a task whose data says what the puppet does.
sub add
{
	my ($type, @steps) = @_;

	return $node->add_task($type, data => encode_json(\@steps));
}

sub check
{
	my ($id, $state, $message, $what) = @_;

	wait_ok(sub { $node->state_of($id) eq $state }, "$what: the task is $state");
	return like(
		$node->value(
			"SELECT coalesce(string_agg(coalesce(message, error), ''), '')
			FROM twtasks.tasks WHERE id = '$id'"),
		$message,
		"$what: the message says why");
}

sub reply
{
	my (%members) = @_;

	return [ 'reply', \%members ];
}

# This task is in flight all the time.
my $other = $node->add_task('OTHER');

wait_for(sub { $ledger->starts($other) }, 'start of the other');

# ---- answers ----

check(add('PUPPET', reply(result => 'done', message => 'well')),
	'DONE 2', qr/^well$/, 'done');
check(add('PUPPET', reply(result => 'delete')), '', qr/^$/, 'delete');
check(add('PUPPET', reply(result => 'error', message => 'give up')),
	'ERROR 2', qr/^give up$/, 'error');
check(add('PUPPET', reply(result => 'retry', retry_in => '10min')),
	'WAITING 2', qr/^$/, 'retry');
check(add('PUPPET', reply(result => 'repeat', retry_in => 600)),
	'WAITING 2', qr/^$/, 'repeat');
is( $node->value(
		'SELECT string_agg(tries::text, \' \' ORDER BY tries)
		FROM twtasks.tasks WHERE status = \'WAITING\'
		AND next_event_time BETWEEN now() + interval \'9 minutes\' AND now() + interval \'11 minutes\''
	),
	'0 1',
	'repeated and retried tasks wait as long as they asked for');

my $long = add('PUPPET', reply(result => 'error', message => 'long' x 4000));

wait_ok(sub { $node->state_of($long) eq 'ERROR 2' }, 'a task with a long message is in ERROR');
is( $node->value(
		"SELECT length(error) BETWEEN 4096 AND 8192 AND error ~ '^long.*long\$'
		FROM twtasks.tasks WHERE id = '$long'"),
	't',
	'a long message is cut to no more than 8 kB');


my $accepted = add('PUPPET', reply(result => 'accepted'));

wait_for(
	sub {
		$node->value(
			"SELECT incarnation IS NULL AND status = 'PROCESSING'
			FROM twtasks.tasks WHERE id = '$accepted'") eq 't';
	},
	'the accepted task to be nobody\'s');
is( $node->value(
		"SELECT status FROM twtasks_internal.finish_tasks(ARRAY['$accepted']::uuid[],
		'{1}', '{done}', '{0}', '{NULL}', NULL, NULL)"),
	'DONE',
	'a task that a worker accepts is finished by another caller');

# ---- breaches of the protocol ----

# A process that has finished a task is followed by another one at once.
sub add_breach
{
	my (@steps) = @_;
	my $good = add('PUPPET', reply(result => 'done'));

	wait_for(sub { $node->state_of($good) eq 'DONE 2' }, 'a good reply');
	return add('PUPPET', @steps);
}

check(
	add_breach([ 'write', "this is no JSON\n" ]),
	'WAITING 2',
	qr/^worker broke the protocol: reply is not JSON/,
	'a line that is not JSON');
check(
	add_breach([ 'write', '{"id":"@ID@","ver' ], [ 'exit', 0 ]),
	'WAITING 2', qr/^worker exited with status 0$/,
	'half a line');
check(
	add_breach([ 'write', 'x' x 1_100_000 ]),
	'WAITING 2',
	qr/^worker broke the protocol: line is longer than 1 MB/,
	'a line that is too long');

# ---- JSON that is not a reply to a task in flight ----

for ([ $foreign, 1, 'a foreign id' ], [ $other, 1, 'a task of another worker' ],
	[ '@ID@', 7, 'another version' ])
{
	my ($id, $version, $what) = @$_;
	my $line = encode_json({ id => $id, version => $version, result => 'done' }) . "\n";

	check(
		add('PUPPET', [ 'write', $line ], reply(result => 'error', message => 'next')),
		'ERROR 2', qr/^next$/, "a reply for $what is ignored");
}
check(
	add('PUPPET', [ 'write', "{\"progress\":7}\n" ], reply(result => 'done', message => 'next')),
	'DONE 2', qr/^next$/, 'an object without an id is ignored');
check(
	add('PUPPET', reply(result => 'nonsense')),
	'ERROR 2',
	qr/^reply is not as it should be: unrecognized result "nonsense"/,
	'a result that is none');
check(add('PUPPET', reply(result => 'done'), reply(result => 'done')),
	'DONE 2', qr/^$/, 'two replies, of which the first counts');
check(
	add('MISSING'),
	'WAITING 2',
	qr/^could not execute "\/nonexistent\/worker": No such file or directory/,
	'a program that is missing');

# ---- the end of a worker ----

check(add('PUPPET', ['kill']),
	'WAITING 2', qr/^worker was ended by signal 9 \(Killed\)$/, 'a worker that is killed');

# The one that kills comes first, the others are in flight behind it.
$node->value(
	"SELECT count(*) FROM twtasks.add_tasks(ARRAY(
	SELECT ('PUPPET', CASE i WHEN 1 THEN '[[\"kill\"]]' ELSE '[[\"reply\", {\"result\": \"done\"}]]' END::jsonb,
			'flight', NULL, NULL, CASE i WHEN 1 THEN 0 ELSE 5 END, NULL, NULL, NULL, NULL, NULL)::twtasks.new_task
	FROM generate_series(1, 64) i))");
my $killed = 'sub_type = \'flight\' AND status = \'WAITING\' AND tries = 1
	AND error = \'worker was ended by signal 9 (Killed)\'';

wait_ok(
	sub { $node->tasks($killed) + $node->tasks('sub_type = \'flight\' AND status = \'DONE\' AND tries = 1') == 64 },
	'a killed worker leaves tasks in flight with one failed try each, unless it had not read them');
cmp_ok($node->tasks($killed), '>=', 1, 'the tasks that it had read have failed');
check(add('PUPPET', reply(result => 'done')),
	'DONE 2', qr/^$/, 'a worker that was started anew');

# ---- deadlines ----

check(
	add('LATE', ['stay']),
	'WAITING 2',
	qr/^deadline of 2\.000 s passed$/,
	'a worker that stays beyond the deadline');
check(
	add('DEAF', ['stay']),
	'WAITING 2',
	qr/^deadline of 2\.000 s passed$/,
	'a worker that is deaf');
check(add('DEAF|NEXT', reply(result => 'done')),
	'DONE 2', qr/^$/, 'a worker that was started anew');

# ---- data ----

foreach my $size (0, 1, 65537, 16 * 1024 * 1024)
{
	my $id = $node->value(
		"SELECT task_id FROM (SELECT string_agg(
			sha256(i::text::bytea), '') AS p FROM generate_series(1, $size / 32 + 1) i) x,
		LATERAL twtasks.add_task('DIGEST', payload => substr(p, 1, $size))");

	wait_for(sub { $node->state_of($id) eq 'DONE 2' },
		"digest of $size bytes");
	is( $node->value(
			"SELECT message = encode(sha256(payload), 'hex')
			AND length(payload) = $size
			FROM twtasks.finished_task WHERE id = '$id'"),
		't',
		"$size bytes of payload arrive unchanged");
}

is($ledger->starts($other), 1, 'the task of another worker was started once');
is($node->state_of($other), 'PROCESSING 1', 'the task of another worker runs on');
$ledger->release('other');
wait_ok(sub { $node->state_of($other) eq 'DONE 2' }, 'the task of another worker is done');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
