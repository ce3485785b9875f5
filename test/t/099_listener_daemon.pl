# 099_listener_daemon.pl -- from the message to the end of its task, by sidecars that
# listen and run: with the rights of a role for listeners alone, through kills, and
# past a message that an operator skips.

use strict;
use warnings FATAL => 'all';

use HTTP::Tiny;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Kafka;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $kafka = TwTasks::Kafka->create;
my $node = TwTasks::Cluster->create('main');
my %address;

$kafka->create_topic($_, 3) foreach qw(many few);
$node->value(<<'SQL');
	CREATE ROLE listener LOGIN IN ROLE twtasks_producer;
	CREATE SCHEMA app;
	CREATE TABLE app.seen (no integer NOT NULL, as_user name DEFAULT current_user);
	CREATE FUNCTION app.to_task(m twtasks.message) RETURNS twtasks.new_task
	LANGUAGE plpgsql SECURITY DEFINER SET search_path = app, pg_temp AS $$
	DECLARE
		task twtasks.new_task;
	BEGIN
		INSERT INTO seen VALUES (pg_catalog.convert_from(m.value, 'UTF8')::integer);
		task.type := 'MADE';
		RETURN task;
	END $$;
	REVOKE EXECUTE ON FUNCTION app.to_task FROM PUBLIC;
	GRANT EXECUTE ON FUNCTION app.to_task TO listener;
SQL
# There the functions of users are called by a role of its own.
$node->value('GRANT EXECUTE ON FUNCTION app.to_task TO twtasks_caller') if $node->has_edition;

# A sidecar with these listeners, which connect as this role.
sub start
{
	my ($name, $role, @listeners) = @_;

	$address{$name} = '127.0.0.1:' . PostgreSQL::Test::Cluster::get_free_port();
	return TwTasks::Sidecar->start(
		$node, $name,
		listen => $address{$name},
		handlers => [ { types => [qw(MANY MADE)], stuck => 'retry', noop => JSON::PP::true } ],
		kafka => {
			brokers => [ split /,/, $kafka->brokers ],
			group => 'test',
			settings => { 'session.timeout.ms' => 6000, 'heartbeat.interval.ms' => 500, 'fetch.wait.max.ms' => 50 }
		},
		listeners_postgres => $node->connstr('postgres') . " user=$role",
		listeners => [ map { { start => 'earliest', %$_ } } @listeners ]);
}

sub count
{
	return $node->value("SELECT count(*) FROM $_[0]");
}

sub last_listener
{
	my ($sidecar) = @_;
	my @pids;

	wait_for(sub { @pids = $sidecar->log =~ /twtasks-kafka\[(\d+)\] started/g }, 'start of the listeners');
	return $pids[-1];
}

# ---- rights ----

my $without = start('without', 'sidecar', { topics => ['many'], type => 'MANY' });
ok($without->wait_for_log(qr/listener: .*permission denied for function (?:take_messages|begin_partition|place_partition)/),
	'the role of the sidecar adds no tasks of messages');
$without->stop;
is($node->tasks('true'), 0, 'messages wait for a role that may take them');

# ---- each message once, through kills ----

my @listeners = ({ topics => ['many'], type => 'MANY', key => 'position' }, { topics => ['few'], function => 'app.to_task' });
my @sidecars = map { start($_, 'listener', @listeners) } qw(a b);

foreach my $part (0 .. 9)
{
	my @values = map { { value => $_ } } $part * 200 + 1 .. $part * 200 + 200;

	$kafka->produce('many', @values);
	$kafka->produce('few', @values[ 0 .. 9 ]);
	if ($part % 3 == 1)
	{
		kill KILL => last_listener($sidecars[ $part % 2 ]);
	}
}
$sidecars[1]->kill9;
wait_ok(sub { $node->tasks("type = 'MANY' AND status = 'DONE'") == 2000 }, 'each message of a type has run as a task');
wait_ok(sub { $node->tasks("type = 'MADE' AND status = 'DONE'") == 100 }, 'each message of a function has run as a task');
is($node->tasks('true'), 2100, 'no message has given two tasks');
is(count('(SELECT DISTINCT no FROM app.seen) s'), 100, 'the function has seen each message');
is(count('app.seen'), 100, 'what the function did is there once for each message');
is($node->value('SELECT string_agg(DISTINCT added_by, \' \') FROM twtasks.tasks'), 'listener',
	'the tasks belong to the role of the listeners');

# ---- a message that holds up its partition ----

$kafka->produce('few', { value => 'junk' x 1000, partition => 0 }, { value => 3001, partition => 0 }, { value => 3002, partition => 1 });
wait_ok(sub { $node->tasks("type = 'MADE'") == 101 }, 'the other partitions go on');
my $broken = $sidecars[0]->wait_for_log(qr/ERROR listener: few: "few" \[0\]: .* at offset (\d+): invalid input syntax/,
	'the broken message');
is(count('app.seen WHERE no = 3001'), 0, 'the partition of a broken message waits');
wait_ok(
	sub {
		$node->value(q(SELECT string_agg(partition || ': ' || problem, '; ') FROM twtasks.listeners WHERE listener = 'few' AND problem IS NOT NULL)) =~
		  /^0: could not store the message at offset $broken: invalid input syntax/;
	},
	'twtasks.listeners names the partition and the reason');
is($node->value(q(SELECT count(*) FROM twtasks.warnings WHERE warning = 'listener in trouble' AND detail ~ 'partition 0 of topic "few": ')),
	1, 'twtasks.warnings has a row for the partition');
is(count("twtasks.listeners WHERE octet_length(problem) > 1000"), 0, 'the reason quotes no whole message');
my $health;
wait_ok(sub { $health = HTTP::Tiny->new->get("http://$address{a}/health")->{content}; $health =~ /"listeners":"listener \\"/ },
	'/health names a listener in trouble');
unlike($health, qr/junk/, '/health quotes no message');
is($node->value("SELECT twtasks.reset_listener('few', 'few', 0, $broken + 1, reason => 'junk')"), $broken,
	'the listener stands at the message that the log names');
wait_ok(sub { count('app.seen WHERE no = 3001') == 1 }, 'an operator skips the message, and the partition goes on');
wait_ok(sub { count(q(twtasks.listeners WHERE problem IS NOT NULL)) + count(q(twtasks.warnings WHERE warning ~ 'listener')) == 0 },
	'views no longer name a trouble that is over');
is($sidecars[0]->stop, 0, 'the sidecar stops in order');

done_testing();
