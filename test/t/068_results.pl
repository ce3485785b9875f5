# 068_results.pl -- what a handler can make of a task besides done: a success
# that leaves no trace, and one that runs again and again, whatever the number
# of tries; in every kind of handler.  And what becomes of one that is accepted,
# when nobody finishes it.

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::HttpServer;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $server = TwTasks::HttpServer->start;

$node->value(<<'SQL');
	CREATE SCHEMA app;
	CREATE FUNCTION app.answer(task twtasks.task_input) RETURNS twtasks.task_result
	LANGUAGE sql AS $$
		SELECT (task.data->>'result', (task.data->>'delay')::interval, NULL)::twtasks.task_result
	$$;
	GRANT USAGE ON SCHEMA app TO sidecar;
SQL

sub handler
{
	my ($type, %options) = @_;

	return {
		types => [$type],
		retry => { delay => '10ms', max_delay => '20ms', max_tries => 2 },
		%options
	};
}

my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [
		handler(
			'COMMAND',
			command => [ '/bin/sh', '-c', 'read -r status; exit $status' ],
			statuses => [ '80=repeat', '81=delete', '82=accepted', '0=done', '9=error' ]),
		(
			map {
				handler(
					"LATE_$_",
					command => [ '/bin/sh', '-c', 'read -r status; exit $status' ],
					statuses => ['82=accepted'],
					timeout => '12s',
					grace => '100ms',
					stuck => $_)
			} qw(retry error fail)
		),
		handler('WORKER', worker => [ TwTasks::Ledger::handler('puppet.py') ]),
		handler('SQL', sql => 'app.answer'),
		handler(
			'HTTP',
			http => $server->url,
			statuses => [ '210=repeat', '211=delete' ]),
		handler('NOOP_DELETE', noop => JSON::PP::true, statuses => ['0=delete']),
		handler('NOOP_REPEAT', noop => JSON::PP::true, statuses => ['0=repeat'])
	]);

# The input that makes a handler give a result.
my %says = (
	COMMAND => { delete => 81, repeat => 80 },
	WORKER => {
		delete => [ [ 'reply', { result => 'delete' } ] ],
		repeat => [ [ 'reply', { result => 'repeat', retry_in => '10ms' } ] ]
	},
	SQL => {
		delete => { result => 'delete' },
		repeat => { result => 'repeat', delay => '10 ms' }
	},
	'HTTP, by its status' =>
	  { delete => { status => 211 }, repeat => { status => 210 } },
	'HTTP, in JSON' => {
		delete =>
		  { type => 'application/json', body => '{"result": "delete"}' },
		repeat => {
			type => 'application/json',
			body => '{"result": "repeat", "retry_in": 0.01}'
		}
	},
	NOOP_DELETE => { delete => JSON::PP::true },
	NOOP_REPEAT => { repeat => JSON::PP::true });

foreach my $name (sort keys %says)
{
	my $type = $name =~ s/,.*//r;
	my %data = %{ $says{$name} };

	if (defined $data{delete})
	{
		my $data = JSON::PP->new->allow_nonref->encode($data{delete});
		my $id = $node->add_task($type, data => $data, key => $name);

		wait_ok(
			sub {
				$node->value(
					"SELECT (SELECT count(*) FROM twtasks.tasks WHERE id = '$id')
					+ (SELECT count(*) FROM twtasks.unique_key WHERE task_id = '$id')"
				) == 0;
			},
			"$name: the task is deleted without a trace");
		is( $node->value(
				"SELECT result FROM twtasks.add_task('$type', run_after => now() + interval '1 hour', key => '$name')"
			),
			'added',
			"$name: the key of the deleted task is free");
	}
	if (defined $data{repeat})
	{
		my $data = JSON::PP->new->allow_nonref->encode($data{repeat});
		my $id = $node->add_task($type, data => $data);

		# each run is three versions: grabbed, waiting, due
		wait_ok(
			sub {
				$node->value(
					"SELECT coalesce(max(version), 0) FROM twtasks.tasks WHERE id = '$id'"
				) >= 20;
			},
			"$name: the task repeats beyond the number of tries");
		is( $node->value(
				"SELECT max(tries) <= 1 AND bool_and(error IS NULL) AND bool_and(status IN ('WAITING', 'SUBMITTED', 'PROCESSING'))
				FROM twtasks.tasks WHERE id = '$id'"
			),
			't',
			"$name: each repeat begins with new tries");
		# a task that runs just then is asked to end, and ends later
		wait_for(
			sub {
				$node->value(
					"SELECT result FROM twtasks.tasks t, twtasks.cancel_task(t.id, t.version) WHERE t.id = '$id'"
				);
				return $node->status_of($id) eq 'CANCELLED';
			},
			'its end');
	}
}

# ---- exit statuses with a meaning ----

foreach my $case ([ 0, 'DONE 2' ], [ 9, 'ERROR 2' ])
{
	my ($status, $state) = @$case;
	my $id = $node->add_task('COMMAND', data => $status);

	wait_ok(sub { $node->state_of($id) eq $state },
		"exit status $status: $state");
}
my $accepted = $node->add_task('COMMAND', data => 82);

wait_ok(
	sub {
		$node->tasks(
			"id = '$accepted' AND status = 'PROCESSING' AND incarnation IS NULL"
		) == 1;
	},
	'exit status 82: the task is accepted');
is( $node->value("SELECT (twtasks.finish_task('$accepted', 1)).status"),
	'DONE', 'an accepted task is finished by another caller');

# ---- accepted, and nobody finishes it ----

# The sidecar finds that out by itself, at its deadline and not much later.
my %late = map { $_ => $node->add_task("LATE_$_", data => 82) } qw(retry error fail);
my $deadlines = wait_for(
	sub {
		$node->value(
			"SELECT jsonb_object_agg(id, deadline) FROM twtasks.tasks WHERE type LIKE 'LATE%' AND status = 'PROCESSING' AND incarnation IS NULL HAVING count(*) = 3"
		);
	},
	'all to be accepted');

wait_ok(
	sub {
		$node->status_of($late{error}) eq 'ERROR'
		  && $node->status_of($late{fail}) eq 'FAILED'
		  && $node->value("SELECT max(tries) FROM twtasks.tasks WHERE id = '$late{retry}'") > 1;
	},
	'accepted tasks past their deadline follow their stuck rules');
is( $node->value(
		"SELECT string_agg(DISTINCT error, ', ') FROM twtasks.tasks WHERE type IN ('LATE_error', 'LATE_fail')"
	),
	'its deadline passed without a result',
	'the error of a task past its deadline says why');
is( $node->value(
		"SELECT bool_and(state_time >= ('$deadlines'::jsonb ->> id::text)::timestamptz)
		FROM twtasks.tasks WHERE id IN ('$late{error}', '$late{fail}')"
	),
	't',
	'no stuck rule acts before the deadline');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
