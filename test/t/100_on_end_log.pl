# 100_on_end_log.pl -- the sidecar's log says what really became of a task that failed,
# also when a function of on_end has moved it on.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;

# A failure is tried again, by the retry policy; an error is not.
my %exit_status = (FAILURE => 1, ERROR => 65);
my $node = TwTasks::Cluster->create('main');

$node->add_extensions('kinds');
$node->safe_psql('postgres', <<'SQL');
	CREATE SCHEMA app;
	CREATE FUNCTION app.resumes(tasks twtasks.ended_task[]) RETURNS void
	LANGUAGE sql SET search_path = app, pg_temp
	AS $$
		SELECT twtasks.resume_task(t.id) FROM unnest(tasks) t WHERE t.status = 'ERROR';
		SELECT twtasks.reschedule_task(t.id, run_after => now() + interval '1 h') FROM unnest(tasks) t WHERE t.status = 'ERROR';
	$$;
	CREATE FUNCTION app.holds(tasks twtasks.ended_task[]) RETURNS void
	LANGUAGE sql SET search_path = app, pg_temp
	AS $$ SELECT twtasks.hold_task(t.id) FROM unnest(tasks) t WHERE t.status = 'ERROR' $$;
	CREATE FUNCTION app.looks(tasks twtasks.ended_task[]) RETURNS void
	LANGUAGE sql SET search_path = app, pg_temp AS '';
	SELECT twtasks.configure_type(r || '|' || t, on_end => f, retry => '"none"')
	FROM unnest('{FAILURE,ERROR}'::text[]) r, unnest('{RESUMED,HELD,LEFT}'::text[], '{app.resumes,app.holds,app.looks}'::text[]) u(t, f);
	SELECT twtasks.configure_kind(lower(r), 'idempotent', r || '|KIND', lower(r) || '-{/n}', delay => '1 h')
	FROM unnest('{FAILURE,ERROR}'::text[]) r;
SQL

my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [
		map { { types => ["$_|*"], command => [ '/bin/sh', '-c', "echo no luck >&2; exit $exit_status{$_}" ], retry => { max_tries => 1 } } }
		  keys %exit_status
	]);

# The log says so, in its one line about a task of that type.
sub expect_line
{
	my ($type, $words, $what) = @_;
	my $line = $sidecar->wait_for_log(qr/(.* finish: .* type=\Q$type\E$)/m, "a line about $type");

	like($line, qr/ $words: .*no luck/, "$type: $what");
	return;
}

foreach my $result (keys %exit_status)
{
	$node->add_task("$result|$_") foreach qw(ALONE LEFT RESUMED HELD);
	$node->safe_psql('postgres', "SELECT twtasks.start('" . lc($result) . "', '{\"n\": 1}')");
	expect_line("$result|ALONE", qr/ERROR .*given up after try 1/, 'a task in ERROR is given up');
	expect_line("$result|LEFT", qr/ERROR .*given up after try 1/, 'so is one that its function leaves in ERROR');
	expect_line("$result|RESUMED", qr/WARN .*try 1 failed, next one in 3(600|5\d\d)\.\d+ s/, 'a task that its function resumes runs again');
	expect_line("$result|HELD", qr/WARN .*try 1 failed, its function for on_end made it HELD/, 'its function holds a task');
	expect_line("$result|KIND", qr/WARN .*try 1 failed, its function for on_end made it FAILED/, 'the attempt of a kind has failed');
}
is($node->value('SELECT count(*) FROM twtasks.attempts WHERE ended IS NULL'), 2, 'each kind goes on with another attempt');

is($sidecar->stop, 0, 'the sidecar stops in order');
done_testing();
