# 099_kafka_listen_owners.pl -- each message gives one task, whatever happens to its
# readers, to their connections and to the topic.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Kafka;
use TwTasks::Listener;
use TwTasks::Tunnel;
use TwTasks::Wait;

# Logs are deleted soon, so that messages can be lost before they are read.
my $kafka = TwTasks::Kafka->create(
	settings => {
		'log.initial.task.delay.ms' => 500,
		'log.retention.check.interval.ms' => 200,
		'log.segment.delete.delay.ms' => 100,
		'group.min.session.timeout.ms' => 1000
	});
my $node = TwTasks::Cluster->create('main', conf => { listen_addresses => "'127.0.0.1'" });

note('TWT_TEST_SEED=' . srand($ENV{TWT_TEST_SEED} // time));

sub settings
{
	my ($listener, @names) = @_;
	my %settings = TwTasks::Listener::settings_for($node, $kafka,
		map { { name => $_, topics => [$listener], type => uc $_, start => 'earliest' } } @names);

	$settings{kafka}{settings}{'session.timeout.ms'} = 2000;
	$settings{kafka}{settings}{'heartbeat.interval.ms'} = 200;
	return %settings;
}

sub start
{
	my ($name, $topic, %more) = @_;

	return TwTasks::Listener->start($node, $name, settings($topic, $topic), %more);
}

# How many tasks there are, and how many different ones.
sub values_of
{
	my ($type) = @_;

	return $node->value("SELECT count(*) || ' ' || count(DISTINCT data) FROM twtasks.task WHERE type = '$type'");
}

sub offset_of
{
	my ($listener) = @_;

	return $node->value("SELECT sum(next_offset) FROM twtasks.message_offset WHERE listener = '$listener'");
}

sub number_of
{
	return 0 + $node->tasks("type = '$_[0]'");
}

# Messages with these values.
sub messages
{
	return map { { value => $_ } } @_;
}

# ---- killed at random ----

$kafka->create_topic('killed', 3);
my @killed = map { start($_, 'killed') } qw(a b);

foreach my $part (0 .. 19)
{
	$kafka->produce('killed', messages($part * 500 + 1 .. $part * 500 + 500));
	my $victim = $killed[ rand @killed ];

	if (rand() < 0.5)
	{
		$victim->kill9;
		$victim->launch;
	}
}
wait_ok(sub { number_of('KILLED') >= 10_000 }, 'all messages become tasks beside consumers that are killed');
is(values_of('KILLED'), '10000 10000', 'each of 10,000 messages is one task, though consumers were killed');
is(offset_of('killed'), 10_000, 'the offsets stand behind the last messages');
$_->stop foreach @killed;

# ---- two owners ----

$kafka->create_topic('owned', 1);
my $first = start('first', 'owned')->wait_until_reading;

$kafka->produce('owned', messages(1 .. 100));
wait_for(sub { number_of('OWNED') == 100 }, 'the first messages');

# The first owner has read messages and stands still before their call.
my $lock = $node->session;

$lock->query("BEGIN; SELECT FROM twtasks.message_offset WHERE listener = 'owned' FOR UPDATE");
$kafka->produce('owned', messages(101 .. 200));
wait_for(sub { $node->value("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name LIKE '%listener owned'") == 1 },
	'the call of the first owner');
$kafka->produce('owned', messages(201 .. 900));
$first->freeze;
my $second = start('second', 'owned')->wait_until_reading;

$kafka->produce('owned', messages(901 .. 1000));
$lock->query('COMMIT');
wait_ok(sub { number_of('OWNED') >= 1000 }, 'another process reads on while one stands still');
$first->signal('CONT');
$kafka->produce('owned', messages(1001 .. 1100));
wait_for(sub { number_of('OWNED') >= 1100 }, 'all messages');
$_->stop foreach $first, $second;
is(values_of('OWNED'), '1100 1100', 'a process that stood still takes no message again');

# ---- the connection to PostgreSQL ----

my $tunnel = TwTasks::Tunnel->create('127.0.0.1:' . $node->port);
my ($host, $port) = split /:/, $tunnel->address;

$kafka->create_topic('cut', 3);
my $cut = start('cut', 'cut', postgres => "host=$host port=$port dbname=postgres user=producer tcp_user_timeout=1000 connect_timeout=2");

$kafka->produce('cut', messages(1 .. 1000));
wait_for(sub { number_of('CUT') == 1000 }, 'messages before the cut');
foreach my $part (1 .. 3)
{
	$kafka->produce('cut', messages($part * 1000 + 1 .. $part * 1000 + 500));
	$tunnel->cut;
	$kafka->produce('cut', messages($part * 1000 + 501 .. $part * 1000 + 1000));
	$node->value("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE '%listener cut'");
	$tunnel->mend;
}
wait_ok(sub { number_of('CUT') >= 4000 }, 'a listener goes on when the connection to PostgreSQL is back');
is(values_of('CUT'), '4000 4000', 'each message is one task, though answers were lost');
$cut->stop;

# ---- two listeners of one topic ----

$kafka->create_topic('shared');
$kafka->produce('shared', messages(1 .. 10));
my $shared = TwTasks::Listener->start($node, 'shared', settings('shared', qw(one two)));

wait_ok(sub { number_of('ONE') == 10 && number_of('TWO') == 10 }, 'two listeners read one topic, each for itself');

# ---- the broker ----

$kafka->crash;
$shared->wait_for_log(qr/WARN .*brokers are down/, 'the loss of the broker');
$kafka->start;
wait_for(sub { eval { $kafka->produce('shared', messages(11 .. 20)) } }, 'messages after the crash');
wait_ok(sub { number_of('ONE') >= 20 && number_of('TWO') >= 20 }, 'listeners go on when the broker is back');
cmp_ok(scalar(() = $shared->log =~ /WARN/g), '<', 10, 'the log says it briefly');
$shared->stop;

# ---- messages that are gone ----

$kafka->create_topic('short', 1, 'segment.bytes' => 4096, 'retention.bytes' => 8192);
$kafka->produce('short', messages(1 .. 10));
my $short = start('short', 'short');

wait_for(sub { number_of('SHORT') == 10 }, 'the first messages');
$short->stop;
$kafka->produce('short', { value => '"' . 'x' x 1000 . '"' }) foreach 1 .. 30;
wait_for(sub { $kafka->messages('short') <= 10 }, 'the deletion of messages');

$short = start('short', 'short');
my $last = $short->wait_for_log(qr/ERROR .*nothing is read from offset 10 on: messages from offset 10 to (\d+) were deleted/, 'the loss');
is(number_of('SHORT'), 10, 'a listener does not pass messages that are gone');
$node->value("SELECT twtasks.reset_listener('short', 'short', 0, $last + 1)");
wait_ok(sub { offset_of('short') == 40 }, 'it goes on when an operator has set its offset');
is(number_of('SHORT'), 10 + 39 - $last, 'messages that are left become tasks');
is(scalar(() = $short->log =~ /were deleted/g), 1, 'a loss is told once');
$short->stop;

done_testing();
