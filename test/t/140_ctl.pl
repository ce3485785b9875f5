# 140_ctl.pl -- each verb of twtasksctl as each role: exit statuses, one JSON
# document, the hint of a missing right, and nothing of a task's data.

use strict;
use warnings FATAL => 'all';

use File::Basename;
use File::Copy;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes;
use TwTasks::Cluster;
use TwTasks::Ctl;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $ledger = TwTasks::Ledger->new;

$node->value(<<'SQL');
	CREATE ROLE operator LOGIN IN ROLE twtasks_operator;
	CREATE ROLE viewer LOGIN IN ROLE twtasks_viewer;
	CREATE ROLE stranger LOGIN;
SQL
my $canary = 'canary-4711-secret';
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	handlers => [
		{ types => ['FAILS*'], command => $ledger->command(undef, 65) },
		{ types => ['*'], command => $ledger->command }
	]);
my $failed = $node->value(
	"SELECT task_id FROM twtasks.add_task('FAILS|ACME', '{\"iban\": \"$canary\"}', key => 'order 1', context => '{\"token\": \"$canary\"}')"
);
my $later = $node->add_task('LATER', run_after => '2100-01-01');

wait_for(sub { $node->status_of($failed) eq 'ERROR' }, 'a task in ERROR');
# The leader may judge by an earlier count meanwhile: then nobody else does.
wait_for(
	sub {
		$node->value("SELECT twtasks_internal.$_()") foreach qw(monitor_tasks judge_incidents);
		return $node->value("SELECT count(*) FROM twtasks.incidents WHERE key = 'error/FAILS|ACME' AND state = 'open'");
	},
	'an incident of it');
$node->value("SELECT twtasks.configure_limit('STEADY', 5)");

# Each verb: the role that has its right, its status then, and its arguments.
my %verbs = (
	status => [ 'viewer', 4 ],
	list => [ 'viewer', 0, '--type', 'FAILS|*', '--status', 'error', '--since', '2h', '--max', 3 ],
	show => [ 'viewer', 0, $failed ],
	life => [ 'viewer', 0, '--key', 'order 1' ],
	errors => [ 'viewer', 0 ],
	doctor => [ 'viewer', 4 ],
	why => [ 'viewer', 0, $failed ],
	wait => [ 'viewer', 1, $failed ],
	add => [ 'producer', 0, 'ADDED', '{"n": 1}' ],
	resume => [ 'operator', 0, '--type', 'NONE', '--reason', 'a test' ],
	reschedule => [ 'operator', 0, '--type', 'NONE', '--run-after', '1h', '--reason', 'a test' ],
	prioritize => [ 'operator', 0, '--type', 'NONE', '--priority', 1, '--reason', 'a test' ],
	cancel => [ 'operator', 0, '--type', 'NONE', '--reason', 'a test' ],
	confirm => [ 'operator', 0, '--type', 'NONE', '--reason', 'a test' ],
	fail => [ 'operator', 0, '--type', 'NONE', '--reason', 'a test' ],
	hold => [ 'operator', 0, '--type', 'NONE', '--reason', 'a test' ],
	release => [ 'operator', 0, '--type', 'NONE', '--run-after', '1h', '--reason', 'a test' ],
	reopen => [ 'operator', 0, '--type', 'NONE', '--since', '1h', '--reason', 'a test' ],
	incidents => [ 'viewer', 0, '--all' ],
	top => [ 'viewer', 0, '--type', 'FAILS|*' ],
	silence => [ 'operator', 0, 'PAYOUT|*', '2h', '--reason', 'maintenance' ],
	acknowledge => [ 'operator', 0, 'error/FAILS|ACME', '--reason', 'a test' ],
	unknown => [ 'viewer', 0, '--type', 'FAILS|*' ],
	'what-if' => [ 'viewer', 0, 'STEADY', 15 ],
	audit => [ 'viewer', 0, '--since', '1h' ],
	nodes => [ 'viewer', 0 ],
	pause => [ 'operator', 0, 'PAUSED', '--reason', 'a test' ],
	unpause => [ 'operator', 0, 'PAUSED' ],
	limit => [ 'operator', 0, 'LIMITED', '--concurrency', 5, '--rate', 7 ],
	policy => [ 'operator', 0, 'SLOW*', '--run-timeout', '5s', '--retry', 'none' ],
	payload => [ 'reader', 0, $failed, '--reason', 'a test' ],
	export => [ 'reader', 0, $failed, '--reason', 'a test' ],
	import => [ 'producer', 0 ],
	bucket => [ 'operator', 0, 'pictures', '--concurrency', 2 ],
	schedule => [ 'operator', 0, 'nightly', '--cron', '30 2 * * *', '--type', 'SETTLE' ],
);
# Verbs that show or take what tasks carry: see 144_ctl_payload.pl
my @order = qw(status doctor why list show life errors unknown incidents top what-if audit nodes wait add resume reschedule prioritize cancel fail confirm hold release reopen silence acknowledge pause unpause limit policy bucket schedule);
my %ctl = map { $_ => TwTasks::Ctl->new($node, $_) } qw(viewer operator producer stranger);
my $super = TwTasks::Ctl->new($node);
my ($help) = $super->ends(0, ['--help']);

is(join(' ', sort grep { $_ ne 'twtasksctl' } $help =~ /^  ([a-z-]+) /mg), join(' ', sort keys %verbs), 'the test has all verbs');
my ($manual) = $super->ends(0, ['--manual']);
foreach my $verb (@order)
{
	my ($needed, $status, @arguments) = @{ $verbs{$verb} };

	$super->ends(0, [ $verb, '--help' ]);
	like($manual, qr/^## \Q$verb\E\b/m, "the manual page has $verb");
	foreach my $role (qw(stranger producer viewer operator))
	{
		if ($role eq $needed || ($role eq 'operator' && $needed eq 'viewer'))
		{
			my $document = $ctl{$role}->json($status, [ $verb, @arguments ], "$verb as $role");

			unlike(encode_json($document), qr/\Q$canary\E/, "$verb as $role shows no data of tasks");
			next;
		}
		my ($out, $err) = $ctl{$role}->ends(1, [ $verb, @arguments ], "$verb as $role is refused");

		is($out, '', "$verb as $role shows nothing");
		like($err, qr/permission denied.*\nhint: this needs the rights of twtasks_(?:viewer|$needed)\b/,
			"$verb as $role names the role that is needed");
	}
	my (undef, $text) = $super->run([ $verb, @arguments ]);

	unlike($text, qr/\Q$canary\E/, "$verb shows no data of tasks");
}

# ---- what they show ----

my $status = $ctl{viewer}->json(4, ['status']);

is($status->{nodes}, 1, 'status counts nodes, as a number');
is($status->{leader}, 'a', 'status names the node that leads');
is($status->{errors}, 1, 'status has the leader\'s count');
ok((grep { $_->{warning} eq 'tasks in ERROR' && $_->{hint} =~ /twtasksctl errors/ } @{ $status->{wrong} }),
	'status says that tasks are in ERROR, and what to type');
my ($text) = $ctl{viewer}->ends(4, ['status']);

like($text, qr/^postgres \(no environment\).*1 node, leader a   .*^WRONG  tasks in ERROR: 1 .*^       try: twtasksctl errors$/ms,
	'status in words');
unlike($text, qr/\033/, 'no colours beside a terminal');
my $listed = $ctl{viewer}->json(0, [ 'list', '--type', 'FAILS|*' ]);

is($listed->{tasks}[0]{id}, $failed, 'list has the columns of SQL');
is($listed->{tasks}[0]{tries}, 1, 'numbers are numbers');
is($listed->{tasks}[0]{sub_type}, undef, 'NULL is null');
is(scalar @{ $ctl{viewer}->json(0, [ 'list', '--status', 'waiting' ])->{tasks} }, 1, 'list by status');
is($ctl{viewer}->json(0, [ 'show', '--key', 'order 1' ])->{id}, $failed, 'show by key');
is($ctl{viewer}->json(0, ['errors'])->[0]{tasks}, 1, 'errors are counted');
is($ctl{viewer}->json(0, [ 'top', '--type', 'FAILS|*' ])->[0]{errors}, 1, 'top has the leader\'s count by type');
my $life = $ctl{viewer}->json(0, [ 'life', $failed ]);
is(join(' ', map { "$_->{event}:$_->{version}" } @$life), 'add:0 start:1 error:2', 'life has each event of a task');
is($life->[2]{status}, 'ERROR', 'and its status then');
is(scalar @{ $ctl{viewer}->json(0, [ 'life', $failed, '--ended', '2h' ]) }, 3, 'a live task has no day of its end');
$ctl{viewer}->ends(1, [ 'life', '00000000-0000-7000-8000-000000000000' ], 'no such task has a life');
my $forecast = $ctl{viewer}->json(0, [ 'what-if', 'STEADY', 15 ]);
is("$forecast->{current} $forecast->{waiting} $forecast->{scope}", '5 0 node', 'what-if has the columns of the function');
like($forecast->{sentence}, qr/^Limit "STEADY" has 5 slots on each node, .*; with 15, /, 'and a sentence');
$ctl{viewer}->ends(1, [ 'what-if', 'NONE', 5 ], 'what-if of no limit');
is($ctl{viewer}->json(0, [ 'limit', 'LIMITED' ])->[0]{rate}, 7, 'limits are shown without an argument');
$ctl{operator}->ends(0, [ 'limit', 'LIMITED', '--concurrency', 9 ]);
my $limit = $ctl{viewer}->json(0, [ 'limit', 'LIMITED' ])->[0];

is("$limit->{concurrency} $limit->{rate}", '9 7', 'a limit keeps what the call does not name');
$ctl{operator}->ends(0, [ 'limit', 'LIMITED', '--drop' ], 'a limit is dropped');
$ctl{operator}->ends(1, [ 'limit', 'LIMITED', '--drop' ], 'a limit that is not there is not dropped');
$node->value(q(SELECT twtasks.configure_schedule('nightly', data => '{"a": 1}', sub_type => 'EUR', time_zone => 'Europe/Berlin', priority => 7)));
$ctl{operator}->ends(0, [ 'schedule', 'nightly', '--cron', '0 3 * * *' ]);
is($node->value(q(SELECT (s.cron, s.type, s.data, s.sub_type, s.time_zone, s.priority)::text FROM twtasks.schedule s)),
	'("0 3 * * *",SETTLE,"{""a"": 1}",EUR,Europe/Berlin,7)', 'a schedule keeps what the call does not name');
$ctl{operator}->ends(1, [ 'schedule', 'nightly', '--type', 'OTHER' ], 'another type does not get its data');
$ctl{operator}->ends(2, [ 'schedule', 'new', '--cron', '0 3 * * *' ], 'a new schedule needs a type');
$ctl{operator}->ends(0, [ 'schedule', 'nightly', '--pause', '--reason', 'holidays' ]);
is($ctl{viewer}->json(0, [ 'schedule', 'nightly' ])->[0]{is_paused}, JSON::PP::true, 'a schedule is paused');
$ctl{operator}->ends(1, [ 'schedule', 'nightly', '--pause' ], 'a paused one is not paused again');
$ctl{operator}->ends(0, [ 'policy', 'SLOW*', '--unset', 'timeout' ]);
is_deeply($ctl{viewer}->json(0, [ 'policy', 'SLOW*' ])->[0]{options}, { retry => 'none' },
	'an option of a policy is removed');

# ---- text of others, wrong arguments, no database ----

$node->value(q{CREATE FUNCTION public.noisy() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE WARNING '%', E'loud\x1b[31m'; RETURN NEW; END$$});
$node->value('CREATE TRIGGER noisy BEFORE INSERT ON twtasks.pause FOR EACH ROW EXECUTE FUNCTION public.noisy()');
my (undef, $noise) = $ctl{operator}->ends(0, [ 'pause', 'NOISY', '--reason', 'x' ], 'a pause that warns');
like($noise, qr/loud\\x1b/, 'words of functions are shown escaped');
$node->value('DROP TRIGGER noisy ON twtasks.pause');
$ctl{operator}->ends(0, [ 'unpause', 'NOISY' ], 'and its end');

$node->value("SELECT twtasks.add_task('ODD', sub_type => E'x\\u202e')");
$ctl{operator}->ends(0, [ 'pause', 'ODD*', '--reason', "a\nb\033[31m" ], "a pause with an odd reason");
($text) = $ctl{viewer}->ends(0, [ 'list', '--type', 'ODD' ]);
my ($odd) = $ctl{viewer}->ends(4, ['status']);
like("$text$odd", qr/x\\u202e.*a\\nb\\x1b/s, 'text of others is shown escaped');
unlike("$text$odd", qr/\033|\xe2\x80\xae|a\nb/, 'text of tasks cannot control the terminal');
foreach my $wrong (
	[], ['nonsense'], [ 'list', '--nonsense' ], [ 'list', '--max' ], [ 'list', 'more' ], [ 'show' ],
	[ 'show', 'no-uuid' ], [ 'what-if', 'STEADY' ], [ 'what-if', 'STEADY', 'x' ], [ 'what-if', 'STEADY', -1 ], [ 'list', '--max', 'x' ], [ 'list', '--since', 'x' ], [ 'list', '--status', 'x' ],
	[ 'pause', 'A' ], [ 'limit', '--concurrency', 5 ], [ 'status', '--timeout', '5' ])
{
	my ($out, $err) = $ctl{operator}->ends(2, $wrong);

	is($out, '', "nothing on stdout: @$wrong");
	like($err, qr/^twtasksctl: /, "a message: @$wrong");
}
$ctl{viewer}->ends(1, [ 'show', '00000000-0000-7000-8000-000000000000' ], 'no such task');
$ctl{viewer}->ends(1, [ 'show', '--key', 'no such key' ], 'no such key');
$super->ends(3, [ '-d', 'nodb', 'status' ], 'no such database');
my (undef, $err) = $super->ends(3, [ '-d', $node->connstr('template1'), 'status' ], 'a database without twtasks');

like($err, qr/may lack the extension twtasks/, 'a database without twtasks: what it lacks');
(undef, $err) = $super->ends(3, [ '-d', 'host=/nowhere', 'status' ], 'no server');
like($err, qr/No such file/, 'no server: why');

# ---- completion ----

sub candidates
{
	my (@words) = @_;
	my ($out) = run_command([ TwTasks::Ctl::program(), 'complete', '--', '-d', $node->connstr('postgres'), @words ]);

	return join ' ', split /\n/, $out;
}
is(candidates('li'), 'list life limit', 'verbs are completed');
like(candidates('list', '--st'), qr/^--status$/, 'options are completed');
is(candidates('list', '--type', 'FAI'), 'FAILS|ACME', 'types are completed');
is(candidates('show', substr($failed, 0, 9)), $failed, 'ids are completed');

# As a shell completes the last word: the program on its PATH, the server by its variables.
sub completed
{
	my (@words) = @_;
	my $program = TwTasks::Ctl::program();
	my $script = '. "$0"; COMP_WORDS=(twtasksctl "$@"); COMP_CWORD=$#; _twtasksctl; printf "%s\n" "${COMPREPLY[@]}"';

	local $ENV{PATH} = dirname($program) . ":$ENV{PATH}";
	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	local $ENV{PGDATABASE} = 'postgres';
	my ($out) = run_command([ 'bash', '-c', $script, dirname(__FILE__) . '/../../tools/completion.bash', @words ]);

	return join ' ', split /\n/, $out;
}
is(completed('li'), 'list life limit', 'bash completes verbs');
is(completed('list', '--type', 'FAI'), 'FAILS\\|ACME', 'bash completes types, and quotes them');
is(completed('show', substr($failed, 0, 9)), $failed, 'bash completes ids');

SKIP:
{
	skip 'zsh is not installed', 3 unless grep { -x "$_/zsh" } split /:/, $ENV{PATH};
	my $directory = PostgreSQL::Test::Utils::tempdir();

	copy(dirname(__FILE__) . "/../../tools/completion.zsh", "$directory/_twtasksctl") || die "could not copy: $!";
	local $ENV{PATH} = dirname(TwTasks::Ctl::program()) . ":$ENV{PATH}";
	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	local $ENV{PGDATABASE} = 'postgres';
	foreach ([ 'twtasksctl sta', 'twtasksctl status', 'verbs' ],
		[ 'twtasksctl list --type FAI', 'twtasksctl list --type FAILS\\|ACME', 'types, and quotes them' ],
		[ 'twtasksctl show ' . substr($failed, 0, 9), "twtasksctl show $failed", 'ids' ])
	{
		my ($typed, $wanted, $name) = @$_;
		my ($out, $err) = run_command([ 'timeout', '120', 'zsh', '-f', TwTasks::Ledger::handler('complete.zsh'), $directory, $typed ]);

		is($out =~ s/ *$//r, $wanted, "an interactive zsh completes $name") || diag($err);
	}
}

# ---- names that programs rely on ----

my %names = (
	status => 'database environment extension nodes counted counted_seconds_ago waiting submitted processing errors stuck oldest_seconds wrong',
	list => 'tasks',
	show => 'id version type sub_type bucket priority status key tries created state_time next_event_time error',
	errors => 'shape tasks types first_seen last_seen example',
	incidents => 'id key severity state opened resolved count summary detail hint silenced_until',
	top => 'type waiting submitted processing errors held retrying oldest_submitted done_per_minute',
	nodes => 'name heartbeat',
	why => 'sentence reason place starts advice',
	life => 'at event version',
	limit => 'pattern scope concurrency rate',
	doctor => 'check finding sentence command');

foreach my $verb (sort keys %names)
{
	my (undef, $status, @arguments) = @{ $verbs{$verb} };
	my ($out) = run_command([ TwTasks::Ctl::program(), '-d', $node->connstr('postgres'), $verb, @arguments, '--json' ]);
	my $document = decode_json($out);
	my $row = ref $document eq 'ARRAY' ? $document->[0] : $document;

	is(join(' ', grep { !exists $row->{$_} } split / /, $names{$verb}), '', "$verb: its JSON has the names of before");
}

# ---- in time ----

once_ok(sub {
		my $begin = Time::HiRes::time();

		$ctl{viewer}->run(['status']);
		return Time::HiRes::time() - $begin < 1;
	}, 'status takes less than a second');
is($sidecar->stop, 0, 'the sidecar stops in order');

# ---- rates, and no leader ----

$node->value('TRUNCATE twtasks.flow');
$node->add_task('LATER', run_after => '2100-01-01');
my $quiet = $ctl{viewer}->json(4, ['status']);
is($quiet->{leader}, undef, 'nobody leads');
is($quiet->{started_per_minute}, undef, 'no rates before a sidecar has told of a minute');
($text) = $ctl{viewer}->ends(4, ['status']);
like($text, qr/0 nodes, no leader /, 'nobody leads, in words');
like($text, qr/^per minute:   added \S+ *$/m, 'no rates in words either, but what was added');
cmp_ok($quiet->{added_per_minute}, '>', 0, 'status: added per minute');
# Two nodes told of three minutes each.
$node->value("SELECT twtasks_internal.note_flow(n, twtasks.clock() - m * interval '1 minute', 60000, '{default}', '{RATED}', ARRAY[30, 15, 3, 6, 9, 0, 0],"
		. ' array_fill(NULL::bigint, ARRAY[21]), array_fill(NULL::bigint, ARRAY[21])) FROM generate_series(-2, -1) n, generate_series(1, 3) m');
my $rates = $ctl{viewer}->json(4, ['status']);
cmp_ok(abs($rates->{"$_->[0]_per_minute"} - $_->[1]), '<', $_->[1] / 5, "status: $_->[0] per minute")
	foreach [ started => 60 ], [ done => 30 ], [ failed => 18 ], [ retried => 18 ];
($text) = $ctl{viewer}->ends(4, ['status']);
like($text, qr/^per minute:   added \S+   started \S+   done \S+   failed \S+   retried \S+/m, 'in words');
done_testing();
