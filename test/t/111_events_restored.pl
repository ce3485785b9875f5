# 111_events_restored.pl -- a restored dump, and a promoted standby, go on with
# the chain of each object: no event that they have is lost, and no id is used
# again, although their sequence may be older than what was sent.

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Chain;
use TwTasks::Cluster;
use TwTasks::Session;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main', init => { allows_streaming => 1 });
my $file = PostgreSQL::Test::Utils::tempdir() . '/dump';

sub add
{
	my ($session, @events) = @_;

	$session->query("SELECT twtasks.add_event('works', 'work:1', '\"$_\"')") foreach @events;
	return;
}

sub contents
{
	my ($session) = @_;

	return join "\n---\n", map { $session->query("SELECT * FROM twtasks.$_ x ORDER BY x::text") }
	  qw(event_stream event_object event objects_with_events event_place event_streams event_objects);
}

# The events of all heads of the object, live and done: text, id, prev.
sub sent
{
	my ($session) = @_;
	my $rows = $session->query(
		'SELECT jsonb_agg(e ORDER BY (e ->> \'id\')::bigint)
		FROM (SELECT type, data FROM twtasks.task UNION ALL SELECT type, data FROM twtasks.finished_task) t, jsonb_array_elements(t.data -> \'events\') e WHERE t.type = \'WORKS\'');

	return @{ decode_json($rows || '[]') };
}

sub texts
{
	return join ' ', map { $_->{event} } sent(@_);
}

# Whether each event names the one before it.
sub is_chain
{
	my ($session) = @_;
	my $last = 0;

	foreach my $event (sent($session))
	{
		return 0 unless $event->{prev} == $last && !exists $event->{skipped};
		$last = $event->{id};
	}
	return 1;
}

sub sidecar
{
	my ($where, $name) = @_;
	my $chain = TwTasks::Chain->new;

	return TwTasks::Sidecar->start($where, $name, handlers => [ { types => ['WORKS'], worker => $chain->worker } ]);
}

$node->add_extensions('events');
$node->value('SELECT twtasks.configure_stream(\'works\', \'WORKS\', batch => 2);
	SELECT twtasks.configure_type(\'WORKS\', stuck => \'retry\')');

my $main = $node->session;
my $sidecar = sidecar($node, 'first');

add($main, qw(a b));
wait_for(sub { texts($main) eq 'a b' && $node->tasks('status = \'DONE\'') > 0 }, 'two events to be sent');
wait_for(sub { $node->value('SELECT count(*) FROM twtasks.task') eq '0' }, 'their heads to end');
$sidecar->stop;

# One head lives, and two events wait behind it.
add($main, qw(c d e f));
$main->query('SELECT twtasks_internal.start_events()');
is(texts($main), 'a b c d', 'a head lives and events wait');

# ---- a restored dump ----

$node->command_ok([ 'pg_dump', '--format=custom', '--file', $file, 'postgres' ], 'pg_dump');
my $before = contents($main);

$node->safe_psql('postgres', 'CREATE DATABASE restored TEMPLATE template0');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', 'restored', $file ], 'restore');

my $restored = TwTasks::Session->new($node->connstr('restored'));

is(contents($restored), $before, 'streams, queue, list and objects are as before');
$restored->query('SELECT twtasks.adopt(NULL, hold => false)');
add($restored, 'g');
$restored->query('SELECT (twtasks.cancel_task(t.id, t.version)).result FROM twtasks.task t');

my %by_text = map { $_->{event} => $_ } sent($restored);

cmp_ok($by_text{e}{id}, '>', 1_000_000, 'the next ids are far above those that may have been sent');
is($by_text{e}{prev}, $by_text{d}{id}, 'the chain goes on');
is($by_text{f}{prev}, $by_text{e}{id}, 'to its end');
is($restored->query('SELECT count(*) FROM twtasks.broken_event_objects'), '0', 'no invariant is broken');
$restored->close;

# ---- a promoted standby ----

$node->backup('backup');
my $standby = TwTasks::Cluster->new('standby');

$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby);
$main->close;
$node->forget_session;
$node->stop('immediate');
$standby->promote;

my $heir = $standby->session;

wait_for(sub { $heir->query('SELECT pg_is_in_recovery()') eq 'f' }, 'the standby to be promoted');
$sidecar = sidecar($standby, 'second');
add($heir, 'h');
wait_ok(sub { texts($heir) eq 'a b c d e f h' }, 'the standby sends what its primary had left');
wait_ok(sub { $standby->value('SELECT count(*) FROM twtasks.task') eq '0' }, 'and all of it ends');
ok(is_chain($heir), 'there is one chain');

my @ids = map { $_->{id} } sent($heir);

cmp_ok($ids[4], '>', $ids[3] + 999_999, 'ids of the new timeline are far above those of the old one');
cmp_ok($ids[6], '<', $ids[4] + 100, 'they jump once');
is($heir->query('SELECT count(*) FROM twtasks.broken_event_objects'), '0', 'no invariant is broken');

$sidecar->stop;
$heir->close;
done_testing();
