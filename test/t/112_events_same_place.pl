# 112_events_same_place.pl -- a state that is restored over itself gives no id of
# an event again: by pg_restore --clean into the same database, by files that are
# copied back, and by tables that are copied without their sequences.

use strict;
use warnings FATAL => 'all';

use File::Copy qw(move);
use PostgreSQL::Test::RecursiveCopy;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Session;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $file = PostgreSQL::Test::Utils::tempdir() . '/dump';
my $session;

# Sends one event of the object, and returns its id.
sub sent
{
	my ($object) = @_;

	$session->query('SELECT (twtasks.cancel_task(t.id)).result FROM twtasks.task t');
	$session->query("SELECT twtasks.add_event('works', '$object', '1')");
	$session->query('SELECT twtasks_internal.start_events()');
	return $session->query("SELECT last_id FROM twtasks.event_objects WHERE object = '$object' AND queued = 0") || 0;
}

sub connect_again
{
	$session = TwTasks::Session->new($node->connstr('app'));
	return;
}

# A copy says why it sends nothing, and sends new ids once it is adopted.
sub check_restored
{
	my ($last, $how) = @_;

	# The SQL edition cannot tell a copy in the place of its original, so a person must adopt it first.
	if (!$node->has_edition)
	{
		is(sent('work:1'), 0, "$how: nothing is sent before somebody adopts the copy");
		like($session->query("SELECT problem FROM twtasks.event_objects WHERE object = 'work:1'"),
			qr/not adopted/, "$how: the reason shows");
	}
	$session->query('SELECT twtasks.adopt(NULL, hold => false)');
	cmp_ok(sent('work:1'), '>', $last, "$how: consumers do not skip the next event");
	cmp_ok(sent('work:2'), '>', $last, "$how: nor that of another object");
	is($session->query('SELECT count(*) FROM twtasks.broken_event_objects'), 0, "$how: no invariant is broken");
	return;
}

$node->safe_psql('postgres', 'CREATE DATABASE app');
$node->install('app');
$node->add_extension('app', 'events');
connect_again();
$session->query('SELECT twtasks.configure_stream(\'works\', \'WORKS\', batch => 10)');
sent('work:1');

# ---- a dump, over the database from which it is ----

$node->command_ok([ 'pg_dump', '--format=custom', '--file', $file, 'app' ], 'pg_dump');
my $last = (map { sent('work:1') } 1 .. 5)[-1];

$session->close;
$node->command_ok([ 'pg_restore', '--exit-on-error', '--clean', '-d', 'app', $file ], 'pg_restore');
connect_again();
check_restored($last, 'a dump');

# ---- files, over themselves, without a new timeline ----

my $copy = PostgreSQL::Test::Utils::tempdir() . '/copy';

$session->close;
$node->forget_session;
$node->stop('fast');
PostgreSQL::Test::RecursiveCopy::copypath($node->data_dir, $copy);
$node->start;
connect_again();
$last = (map { sent('work:1') } 1 .. 5)[-1];
$session->close;
$node->forget_session;
$node->stop('immediate');
move($node->data_dir, $node->data_dir . '.old') or die "could not move the data: $!";
move($copy, $node->data_dir) or die "could not move the copy: $!";
chmod 0700, $node->data_dir or die "could not change the rights of the copy: $!";
$node->start;
connect_again();
check_restored($last, 'files');

# ---- tables without their sequences ----

# Each adopt() above went a second ahead of the clock.
$last = sent('work:1');
wait_for(sub { $session->query("SELECT twtasks_internal.clock_id() > $last") eq 't' }, 'the clock to pass the ids');
$session->query("SELECT setval('twtasks.event_id_seq', 1), setval('twtasks.event_seq_seq', 1)");
cmp_ok(sent('work:3'), '>', $last, 'an id of a sequence that is behind is new to all consumers');
cmp_ok(sent('work:1'), '>', $last, 'also to those of an object that has sent some');

$session->close;
done_testing();
