# 072_log.pl -- the log is one JSON object per line whatever is in it, names
# the task, and holds neither passwords nor what tasks carry; nor do command
# lines, environments and core dumps of processes.

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;
my $command = TwTasks::Ledger::handler('command.sh');
my $sidecar = TwTasks::Sidecar->start(
	$node,
	'a "node"',
	postgres => $node->connstr('postgres')
	  . ' user=sidecar password=s3cret-word',
	log => { format => 'json', level => 'debug' },
	env => { PGPASSWORD => 's3cret-env' },
	handlers => [
		{ types => ['GATED'], command => $ledger->command('gate') },
		{ types => ['WORKER'], worker => $ledger->worker('worker') },
		{
			types => ['NASTY'],
			command => [
				$command,
				'exit',
				3,
				'two\nlines "quoted" \033[31mred\033[0m \377\376 {"level":"info"}'
			],
			retry => { max_tries => 1 }
		},
		{
			types => ['JUNK'],
			worker => [ TwTasks::Ledger::handler('puppet.py') ],
			retry => { max_tries => 1 }
		}
	]);

my $secret = 'what-only-the-handler-may-see';
my %carried = (
	data => "{\"card\": \"$secret\"}",
	context => "{\"request\": \"$secret\"}");
my @ids =
  map { $node->add_task($_, data => $carried{data}) } qw(GATED WORKER);
my $nasty = $node->add_task('NASTY', %carried);
my $junk = $node->add_task('JUNK',
	data =>
	  "[[\"say\", \"not \\u001b[2J\\nfor the log\\n\"], [\"write\", \"$secret\\n\"]]"
);

wait_for(
	sub {
			 $ledger->starts($ids[0])
		  && $ledger->starts($ids[1])
		  && $node->status_of($nasty) eq 'ERROR'
		  && $node->status_of($junk) eq 'ERROR';
	},
	'all to have begun or failed');

# ---- processes ----

sub process_files
{
	my ($pid) = @_;

	return join "\n", map { slurp_file("/proc/$pid/$_") } qw(cmdline environ);
}

sub no_core_ok
{
	my ($pid, $name) = @_;

	return like(slurp_file("/proc/$pid/limits"), qr/^Max core file size +0 +0 /m, "$name: a crash writes no memory to a file");
}

foreach my $line ($ledger->select('start'))
{
	unlike(process_files($line->{pid}),
		qr/s3cret|\Q$secret\E/, "$line->{type}: the process shows neither password nor data");
	no_core_ok($line->{pid}, $line->{type});
}
no_core_ok($sidecar->pid, 'the sidecar');
unlike(slurp_file('/proc/' . $sidecar->pid . '/cmdline'),
	qr/s3cret/, 'the command line of the sidecar holds no password');

$ledger->release($_) foreach qw(gate worker);
wait_for(
	sub {
		2 == grep { $node->status_of($_) eq 'DONE' } @ids;
	},
	'the others to be done');
is($sidecar->stop, 0, 'the sidecar stops in order');

# ---- the log ----

my @lines = split /\n/, $sidecar->log;
my @events = map {
	eval { decode_json($_) }
	  || ()
} @lines;

is(scalar @events, scalar @lines, 'each line is a JSON object');
is( scalar(
		grep {
			!(     $_->{time} =~ /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
				&& $_->{level} =~ /^(error|warn|info|debug)$/
				&& $_->{node} eq 'a "node"'
				&& $_->{subject}
				&& $_->{message})
		} @events),
	0,
	'each line has time, level, node, subject and message');
my ($failure) =
  grep { $_->{level} eq 'error' && ($_->{task} // '') eq $nasty } @events;

is_deeply(
	[ @$failure{qw(version type)} ],
	[ 1, 'NASTY' ],
	'a line about a task has its id, version and type');
like(
	$failure->{message},
	qr/^given up after try 1: .*two.*lines "quoted"/s,
	'a line about a failure says what happened');
unlike($sidecar->log, qr/[\x00-\x09\x0b-\x1f\x7f]/,
	'the log has no control character but line ends');
unlike($sidecar->log, qr/s3cret/, 'the log holds no password');
unlike($sidecar->log, qr/\Q$secret\E/, 'the log holds nothing of what tasks carry');

done_testing();
