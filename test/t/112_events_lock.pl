# 112_events_lock.pl -- the end of a head locks the row of its object and changes
# it in one subtransaction.  Else each head would take a MultiXact, and a busy
# database many members of MultiXacts, which VACUUM must remove in time.  And it is
# durable, as the ids of the next head's events are.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

use constant HEADS => 100;

my $node = TwTasks::Cluster->create('main');

$node->add_extensions('events');
$node->value('SELECT twtasks.configure_stream(\'works\', \'WORKS\')');

sub next_multixact
{
	return $node->value("CHECKPOINT; SELECT next_multixact_id FROM pg_control_checkpoint()");
}

sub is_sent
{
	return $node->value('SELECT count(*) FROM twtasks.event_objects WHERE queued > 0 OR head IS NOT NULL') eq '0';
}

my $before = next_multixact();

$node->value('SELECT count(twtasks.add_event(\'works\', \'o\', \'1\')) FROM generate_series(1, ' . HEADS . ') n');
my $sidecar = TwTasks::Sidecar->start($node, 'first', handlers => [ { types => ['WORKS'], noop => \1 } ]);

wait_ok(\&is_sent, 'all events are sent');
is($node->value('SELECT count(*) FROM twtasks.finished_task'), HEADS, 'each by a head of its own');
cmp_ok(next_multixact() - $before, '<', HEADS / 10, 'the ends of heads take no MultiXacts');

$sidecar->stop;

# An event whose id the server forgets in a crash comes again as another one.  Nobody
# else flushes meanwhile.
my $session = $node->session;

$node->value(q(SELECT twtasks.add_event('works', 'o', '1')));
$node->value(q(SELECT twtasks_internal.start_events()));
$node->value(q(SELECT twtasks.add_event('works', 'o', '2')));
$session->query('SET synchronous_commit = off');
$session->query('BEGIN');
$session->query('SELECT twtasks.cancel_task(id, version) FROM twtasks.tasks WHERE type = \'WORKS\' AND status = \'SUBMITTED\'');
is($session->query('SELECT count(*) FROM twtasks.tasks WHERE type = \'WORKS\' AND status = \'SUBMITTED\''), 1, 'the end of a head gives the next one');
my $written = $session->query('SELECT pg_current_wal_insert_lsn()');
my $writer = $node->freeze_backend("backend_type = 'walwriter'");

$session->query('COMMIT');
is($session->query("SELECT pg_current_wal_flush_lsn() >= '$written'"), 't', 'the end of a head waits for the disk, whatever its caller prefers');
kill CONT => $writer;

done_testing();
