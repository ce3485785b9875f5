# 038_silent_duty.pl -- a duty that takes longer than the control session may be
# silent ends over another session.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main', conf => { 'twtasks.function_timeout' => '20s' });

$node->value(<<'SQL');
	CREATE TABLE public.done (at timestamptz);
	CREATE FUNCTION twtasks_internal.duty_slow() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS
	$$ BEGIN
		PERFORM pg_catalog.pg_sleep(3); -- workload
		INSERT INTO public.done VALUES (clock_timestamp());
		RETURN 1000;
	END $$;
SQL

# Its control session is given up after 2 s.
my $sidecar = TwTasks::Sidecar->start($node, 'a', lease => '4s',
	handlers => [ { types => ['NOOP'], noop => JSON::PP::true } ]);

$sidecar->wait_for_log(qr/control: no answer to "duties"/);
wait_ok(sub { $node->value('SELECT count(*) FROM public.done') >= 2 }, 'the duty is done again and again');
$node->add_task('NOOP');
$node->wait_until_done('NOOP', 'tasks run meanwhile');
is(() = $sidecar->log =~ /no answer to "duties"/g, 1, 'the session was given up once for it');
unlike($sidecar->log, qr/declared gone/, 'the node was not declared gone');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
