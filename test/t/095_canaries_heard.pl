# 095_canaries_heard.pl -- every role may LISTEN, so no notification of twtasks holds what a
# task carries, an error or the reason of a change.

use strict;
use warnings FATAL => 'all';

use File::Basename;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Wait;

use constant CHANNELS => qw(twtasks twtasks_cancel twtasks_config twtasks_listener twtasks_slots);

my $root = dirname(__FILE__) . '/../..';
my $node = TwTasks::Cluster->create('main', queue => 'notify');

# ---- the channels ----

# The library notifies two itself; the SQL edition has these in its functions, too.
my %notified = map { $_ => 1 } qw(twtasks twtasks_config);

$notified{$_} = 1 foreach split /\n/, $node->value(<<'SQL');
	SELECT DISTINCT m[1] FROM pg_proc p
	JOIN pg_namespace n ON n.oid = p.pronamespace
	CROSS JOIN LATERAL regexp_matches(coalesce(pg_get_function_sqlbody(p.oid), p.prosrc), $$pg_notify\('(\w+)'$$, 'g') m
	WHERE n.nspname ~ '^twtasks'
SQL
is(join(' ', sort keys %notified), join(' ', CHANNELS), 'this test knows every channel');

# ---- a stranger listens, while tasks live ----

$node->value('CREATE ROLE stranger LOGIN');
my $stranger = $node->session('stranger');
my $session = $node->session;

$stranger->query("LISTEN $_") foreach CHANNELS;
$session->query("\\i $root/test/lib/tasks.sql");

sub add
{
	my ($n) = @_;

	return $session->query(<<"SQL");
		SELECT twtasks.add_task('TYPE', '{"iban": "canary-of-data"}', key => 'order $n', sub_type => 'EUR', task_id => pg_temp.id($n),
			payload => 'canary-of-payload'::bytea, context => '{"token": "canary-of-context"}')
SQL
}

$session->query(q(SELECT twtasks.configure_type('TYPE', retry => '{"delays": ["1h"]}')));
add($_) foreach 1 .. 4;
$session->query("SELECT pg_temp.grab(pg_temp.id($_))") foreach 1 .. 3;
$session->query(q(SELECT pg_temp.finish(pg_temp.id(1), 'error', message => 'canary-of-error')));
$session->query(q(SELECT twtasks.resume_task(pg_temp.id(1), pg_temp.version_of(pg_temp.id(1)), 'canary-of-reason')));
$session->query(q(SELECT twtasks.request_cancel(pg_temp.id(2), pg_temp.version_of(pg_temp.id(2)), 'canary-of-reason')));
$session->query(q(SELECT pg_temp.finish(pg_temp.id(3), 'done')));
$session->query(q(SELECT twtasks.prioritize_task(pg_temp.id(4), pg_temp.version_of(pg_temp.id(4)), 1, 'canary-of-reason')));
$session->query(<<'SQL');
	SELECT twtasks.schedule('nightly', '30 2 * * *', 'TYPE', '{"iban": "canary-of-data"}',
							context => '{"token": "canary-of-context"}', payload => 'canary-of-payload'::bytea)
SQL
$session->query(q(SELECT twtasks.run_schedule_now('nightly')));

# Notifications come in the order of commits.
$session->query(q(SELECT pg_notify('twtasks_listener', 'the last one')));
my $heard = '';

wait_for(sub { ($heard .= $stranger->query('SELECT 1') . "\n") =~ /the last one/ }, 'the last notification');
foreach my $channel (qw(twtasks twtasks_cancel twtasks_config))
{
	like($heard, qr/notification "$channel"/, "a stranger hears of $channel");
}
like($heard, qr/TYPE/, 'a stranger hears the type of a task');
unlike($heard, qr/canary/, 'a stranger hears nothing that a task carries, no error and no reason');
is($node->value(q(SELECT count(*) FROM twtasks.tasks WHERE type = 'TYPE')), 5, 'a schedule has added a task, too');
done_testing();
