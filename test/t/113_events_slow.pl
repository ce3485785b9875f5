# 113_events_slow.pl -- sidecars go on with all other objects while the head of one takes
# too long to be added.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');

# Whether all events are sent but those of one object.
sub is_sent
{
	my ($but) = @_;

	return $node->value("SELECT count(*) FROM twtasks.event_objects
		WHERE object <> '$but' AND (queued > 0 OR last_id > sent_id)") eq '0';
}

sub problem
{
	return $node->value('SELECT problem FROM twtasks.event_objects WHERE object = \'slow\'');
}

$node->add_extensions('events');
$node->value(<<'SQL');
	SELECT twtasks.configure_stream('works', 'WORKS', batch => 10);
	CREATE FUNCTION regress_intercept(task twtasks.new_task) RETURNS twtasks.new_task LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
	BEGIN
		WHILE task.sub_type = 'slow' LOOP
			NULL;
		END LOOP;
		RETURN task;
	END $$;
	SELECT twtasks.configure_type('WORKS', intercept => 'public.regress_intercept');
SQL

my $sidecar = TwTasks::Sidecar->start($node, 'first', handlers => [ { types => ['*'], noop => \1, concurrency => 8 } ]);

$node->value(<<'SQL');
	SELECT twtasks.add_event('works', 'slow', '1');
	SELECT count(twtasks.add_event('works', 'good' || n, '1')) FROM generate_series(1, 100) n;
SQL
wait_ok(sub { is_sent('slow') }, 'other objects of the stream go on');
wait_ok(sub { problem() =~ /took too long/ }, 'the object at fault shows its problem');
wait_ok(sub { $node->value('SELECT count(*) FROM twtasks.warnings WHERE warning = \'events stand still\' AND detail LIKE \'%"slow"%\'') eq '1' },
	'so do the warnings');
$node->value('SELECT count(twtasks.add_event(\'works\', \'good\' || n, \'2\')) FROM generate_series(1, 100) n');
wait_ok(sub { is_sent('slow') }, 'others go on while it is tried again and again');
unlike($sidecar->log, qr/duty .*event.* failed/, 'no duty of events fails');

$node->value('SELECT twtasks.configure_type(\'WORKS\', intercept => \'none\')');
wait_ok(sub { is_sent('') }, 'the object goes on when the function is mended');
is($node->value('SELECT count(*) FROM twtasks.broken_event_objects'), '0', 'no invariant is broken');
is($node->value('SELECT count(*) FROM twtasks.task'), '0', 'no task is left');

$sidecar->stop;
done_testing();
