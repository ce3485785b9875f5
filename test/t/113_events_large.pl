# 113_events_large.pl -- sidecars send many large events of one object.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');

# Whether all events of a stream are sent.
sub is_sent
{
	my ($stream) = @_;

	return $node->value("SELECT count(*) FROM twtasks.event_objects WHERE stream = '$stream' AND (queued > 0 OR last_id > sent_id)") eq '0';
}

$node->add_extensions('events');
$node->value('SELECT twtasks.configure_stream(\'many\', \'MANY\', batch => 10000), twtasks.configure_stream(\'large\', \'LARGE\', batch => 100)');

my $sidecar = TwTasks::Sidecar->start($node, 'first', handlers => [ { types => ['*'], noop => \1, concurrency => 8 } ]);

$node->value(<<'SQL');
	SELECT count(twtasks.add_event('many', 'm', to_jsonb(repeat(md5(n::text), 44)))) FROM generate_series(1, 12000) n;
	SELECT count(twtasks.add_event('large', 'l' || n % 3, to_jsonb(repeat(md5(n::text), 4700)))) FROM generate_series(1, 300) n;
SQL
wait_ok(sub { is_sent('many') }, '12,000 events of 1.4 kB of one object are sent');
wait_ok(sub { is_sent('large') }, 'so are 300 events of 150 kB');
unlike($sidecar->log, qr/duty .* failed/, 'no duty fails');
is($node->value('SELECT count(*) FROM twtasks.broken_event_objects'), '0', 'no invariant is broken');
is($node->value('SELECT count(*) FROM twtasks.task'), '0', 'no task is left');

$sidecar->stop;
done_testing();
