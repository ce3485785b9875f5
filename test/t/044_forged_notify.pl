# 044_forged_notify.pl -- anybody may NOTIFY anything; what is forged does no
# harm: it starts nothing that may not start, nothing twice, and stops nothing.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main', queue => 'notify');
my $ledger = TwTasks::Ledger->new;
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	sweep => '1h',
	buckets => [ 'default', 'own' ],
	handlers => [
		{ types => ['TASK'], command => $ledger->command },
		{ types => ['GATED'], command => $ledger->command('gate') }
	]);

$sidecar->wait_until_idle;
$node->value('CREATE ROLE stranger LOGIN');
my $stranger = $node->session('stranger');
my $listener = $node->session;

sub notify
{
	my ($payload) = @_;

	$payload =~ s/'/''/g;
	return $stranger->query("SELECT pg_notify('twtasks', '$payload')");
}

# A true notification, as a model for forged ones.
$listener->query('LISTEN twtasks');
my $done = $node->add_task('TASK');

wait_for(sub { $node->status_of($done) eq 'DONE' }, 'a first task');
my $heard = $listener->query('SELECT 1');

like(
	$heard,
	qr/"twtasks".*payload "default\n.*\Q$done\E/si,
	'a payload names the bucket and the task');
my ($line) = $heard =~ /payload "default\n(.*?)\n?"/s;

# Tasks that must not start: held, not due, running, done, of a bucket that is
# not ours.
my $held = $node->add_task('TASK',
	run_after => $node->value('SELECT now() + interval \'1 hour\''));
my $later = $node->add_task('TASK',
	run_after => $node->value('SELECT now() + interval \'1 hour\''));
my $foreign = $node->add_task('TASK', bucket => 'foreign');
my $running = $node->add_task('GATED');

$node->value("SELECT twtasks.hold_task('$held', 0)");
wait_for(sub { $ledger->starts($running) }, 'start of the gated task');

my @never = ($held, $later, $foreign);
my @all = (@never, $running, $done);
my @before = map { $node->state_of($_) } @all;

sub forge
{
	my ($id, $version) = @_;
	my $forged = $line =~ s/\Q$done\E/$id/r;

	# the version is the second word, whatever else is in the line
	return $forged =~ s/^(\S+\s+)\d+/$1$version/r;
}

my $random = '6f2c0d0a-0f5e-4a35-9f0e-0c3f7c1f2b11';

# A true task behind them shows that they have been looked at.
foreach my $version (0 .. 3, '4611686018427387904')
{
	foreach my $bucket (qw(default own foreign))
	{
		notify("$bucket\n" . forge($_, $version))
		  foreach @never, $running, $done, $random;
	}
	my $true = $node->add_task('TASK');

	wait_for(sub { $node->state_of($true) eq 'DONE 2' }, 'a true task');
}
my @junk = (
	'',
	"\n",
	"\n\n\n",
	'default',
	'nobody',
	"default\n",
	"default\nsweep\n",
	"default\n" . 'x' x 7900,
	'y' x 7999,
	"default\n" . "\n" x 7900,
	"default\n" . join("\n", ('sweep') x 1300),
	"default\n" . join("\n", map { forge($random, $_) } 1 .. 90),
	"default\n$line extra",
	"default\n" . substr($line, 0, 20),
	"default\n" . "-$line",
	"default\n" . forge($random, '99999999999999999999'),
	"default\n" . forge($random, '-1'),
	"default\n'; DROP TABLE twtasks.task; --",
	"default\n{\"id\": \"$random\"}",
	"default\n{}",
	"default\nnull",
	"default\n\x{1b}[2J\x{7f}");

foreach my $payload (@junk)
{
	notify($payload) foreach 1 .. 20;
}
$stranger->query(
	'SELECT pg_notify(\'twtasks\', E\'default\\nsweep\\n\' || i)
	FROM generate_series(1, 5000) i');

# True notifications still get through, at once and once.
my @true = map { $node->add_task('TASK') } 1 .. 20;

wait_ok(
	sub {
		20 == grep { $node->state_of($_) eq 'DONE 2' } @true;
	},
	'tasks with a true trigger still run');
is_deeply([ map { $node->state_of($_) } @all ],
	\@before, 'forged notifications changed no task');
is($ledger->starts($foreign),
	0, 'a forged notification starts no task of another bucket');
is(scalar(grep { $ledger->starts($_) } $held, $later),
	0, 'no task was started that is held or not due');
is(scalar($ledger->repeated), 0, 'no task was started twice');
$ledger->release('gate');
wait_ok(sub { $node->state_of($running) eq 'DONE 2' },
	'a running task ran to its end');
cmp_ok($sidecar->memory('VmRSS'), '<', 32 * 1024, 'memory stays bounded');
unlike($sidecar->log, qr/ERROR/, 'no error is logged');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
