# 060_handlers.pl -- whatever a command does, its task ends in the state that
# was promised, the database says why, and nobody else is disturbed.

use strict;
use warnings FATAL => 'all';

use Fcntl qw(O_RDONLY O_NONBLOCK);
use POSIX qw(mkfifo);
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $directory = PostgreSQL::Test::Utils::tempdir();
my $command = TwTasks::Ledger::handler('command.sh');
my @handlers;
my %fifo;

# A handler for tasks of that type; the rest are options.
sub handler
{
	my ($type, $argv, %options) = @_;

	push @handlers,
	  {
		types => [$type],
		command => $argv,
		retry => { delay => '1h', max_tries => 5 },
		%options
	  };
	return;
}

# A fifo that says when it is held, and when nobody holds it any more.
sub fifo
{
	my ($name) = @_;
	my $path = "$directory/$name.fifo";

	mkfifo($path, oct 600)      or die "could not make \"$path\": $!";
	mkfifo("$path.go", oct 600) or die "could not make \"$path.go\": $!";
	sysopen my $handle, $path, O_RDONLY | O_NONBLOCK
	  or die "could not open \"$path\": $!";
	$fifo{$name} = $handle;
	return $path;
}

sub is_held
{
	my ($name) = @_;

	return sysread($fifo{$name}, my $text, 100);
}

sub is_free
{
	my ($name) = @_;
	my $n = sysread($fifo{$name}, my $text, 100);

	return defined $n && $n == 0;
}

# Waits until the task has that status; checks its tries and its message.
sub check
{
	my ($id, $status, $tries, $message, $what) = @_;

	wait_for(sub { $node->status_of($id) eq $status }, "$what: $status");
	my $said = $node->value(
		"SELECT tries || ' ' || coalesce(error, '')
		FROM twtasks.tasks WHERE id = '$id'");

	return like($said, qr/^$tries $message/, "$what: the task is $status");
}

my @at_once = (retry => { delay => '10ms', max_tries => 2, jitter => 0 });
my @late =
  (timeout => '6s', grace => '200ms', retry => { max_tries => 1 });

handler('EXIT0', [ $command, 'exit', 0, 'all is well' ]);
handler('EXIT3', [ $command, 'exit', 3, 'no luck\\nagain' ], @at_once);
handler('EXIT65', [ $command, 'exit', 65, 'bad data' ]);
handler('EXIT75', [ $command, 'exit', 75, 'later' ]);
handler('EFFECT', [ '/bin/sh', '-c', "echo x >>$directory/effect; exit 3" ], @at_once);
handler('SIGNAL', [ $command, 'signal', 'SEGV' ]);
handler('MISSING', ['/nonexistent/handler']);
handler('FORBIDDEN', ['/etc/passwd']);
handler('DEAF', [ $command, 'hold', fifo('deaf'), 'deaf' ], @late);
handler('CHILD', [ $command, 'hold', fifo('child'), 'child' ], @late);
handler('SESSION', [ $command, 'hold', fifo('session'), 'session' ], @late);
handler('STOPPED', [ '/bin/sh', '-c', 'kill -s STOP $$' ], @late);
handler('LEAVE', [ $command, 'leave', fifo('leave'), 'session' ]);
handler('FLOOD', [ $command, 'flood', 200_000_000 ]);
handler('UNREAD', [ $command, 'unread' ]);
handler('UNREADING', [ $command, 'unread', fifo('unreading') ], @late);
handler('DIGEST',
	[ '/bin/sh', '-c', "sha256sum >$directory/\$TWTASKS_ID.digest" ]);
handler(
	'FACTS',
	[
		'/bin/sh', '-c',
		"env >$directory/env; ls /proc/self/fd >$directory/fds"
	]);

my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	env => { PGPASSWORD => 'not-for-handlers' },
	handlers => \@handlers);

$sidecar->wait_until_idle;
my $descriptors = $sidecar->descriptors;

# ---- how it ends ----

# All together, so that each waits for the others.
my %id = map { $_ => $node->add_task($_) }
  qw(EXIT0 EXIT3 EXIT65 EXIT75 EFFECT SIGNAL MISSING FORBIDDEN);

check($id{EXIT0}, 'DONE', 1, qr/$/, 'exit status 0');
check(
	$id{EXIT3}, 'ERROR', 2,
	qr/handler exited with status 3: no luck\nagain$/,
	'exit status 3, tried again');
check(
	$id{EXIT65}, 'ERROR', 1,
	qr/handler exited with status 65: bad data$/,
	'exit status 65');
check(
	$id{EXIT75}, 'WAITING', 1,
	qr/handler exited with status 75: later$/,
	'exit status 75');
check($id{EFFECT}, 'ERROR', 2, qr/handler exited with status 3$/, 'a command with an effect');
is(slurp_file("$directory/effect"), "x\nx\n",
	'the effects of a failed command stay, and the retry repeats them');
check(
	$id{SIGNAL}, 'WAITING', 1,
	qr/handler was ended by signal 11 \(.*\)$/,
	'ended by a signal');
check(
	$id{MISSING},
	'WAITING',
	0,
	qr/could not execute "\/nonexistent\/handler": No such file or directory$/,
	'missing program');
check(
	$id{FORBIDDEN}, 'WAITING', 0,
	qr/could not execute "\/etc\/passwd": Permission denied$/,
	'program that may not be executed');

# ---- processes ----

# All together, so that one deadline is waited for.
my %late =
  map { $_ => $node->add_task(uc $_) } qw(deaf child session stopped);

wait_for(sub { is_held($_) }, "$_ to begin") foreach qw(deaf child session);
foreach my $name (qw(deaf child session))
{
	wait_for(sub { is_free($name) }, "$name to be gone");
	check(
		$late{$name}, 'ERROR', 1,
		qr/deadline of 6\.000 s passed$/,
		"beyond the deadline, $name");
	wait_ok(sub { is_free($name) }, "$name: all processes of the handler are killed");
}
check(
	$late{stopped}, 'ERROR', 1,
	qr/deadline of 6\.000 s passed$/,
	'a command that was stopped');

my $leave = $node->add_task('LEAVE');

check($leave, 'DONE', 1, qr/$/, 'a command whose grandchild keeps stderr open');
ok(is_held('leave'), 'the grandchild had begun');
ok(is_free('leave'), 'nothing of the command is left, also in another session');

# ---- output ----

my $flood = $node->add_task('FLOOD');
my $most = 0;
my $beside = 0;

while ($node->status_of($flood) =~ /SUBMITTED|PROCESSING/)
{
	my $other = $node->add_task('EXIT0');

	wait_for(sub { $node->status_of($other) eq 'DONE' }, 'a task meanwhile');
	$beside++ if $node->status_of($flood) eq 'PROCESSING';
	$most = $sidecar->memory('VmRSS') if $sidecar->memory('VmRSS') > $most;
}
check(
	$flood, 'WAITING', 1,
	qr/handler exited with status 3: .*\\x00/,
	'a command with much output');
cmp_ok(
	$node->value(
		"SELECT length(error) FROM twtasks.tasks WHERE id = '$flood'"),
	'<=', 8192,
	'the error keeps no more than 8,192 characters');
cmp_ok($most, '<', 32 * 1024, 'memory stays bounded');
cmp_ok($beside, '>', 0, 'other tasks run meanwhile');

# ---- input ----

my $unread = $node->value(
	'SELECT task_id FROM twtasks.add_task(\'UNREAD\',
	payload => decode(repeat(\'00\', 16 * 1024 * 1024), \'hex\'))');
my $unreading = $node->value(
	'SELECT task_id FROM twtasks.add_task(\'UNREADING\',
	payload => decode(repeat(\'00\', 16 * 1024 * 1024), \'hex\'))');

wait_for(sub { is_held('unreading') }, 'who does not read to begin');
my $other = $node->add_task('EXIT0');

check($other, 'DONE', 1, qr/$/, 'beside one that does not read');
is($node->status_of($unreading), 'PROCESSING', 'the task that does not read still runs');
check($unread, 'DONE', 1, qr/$/, '16 MB that the command does not read');
check($unreading, 'ERROR', 1, qr/deadline/,
	'a command that stays and does not read');

my @payloads = (
	'\'\'::bytea',
	'\'\\x00\'::bytea',
	'(SELECT string_agg(set_byte(\'\\x00\', 0, i), \'\') FROM generate_series(0, 255) i)',
	'(SELECT string_agg(sha256(i::text::bytea), \'\') FROM generate_series(1, 524288) i)'
);

foreach my $payload (@payloads)
{
	my ($id, $size) = split /\|/, $node->value(
		"SELECT task_id, length(p) FROM (SELECT $payload p OFFSET 0) x,
			LATERAL twtasks.add_task('DIGEST', payload => p)");

	check($id, 'DONE', 1, qr/$/, "$size bytes of payload");
	is( substr(slurp_file("$directory/$id.digest"), 0, 64),
		$node->value(
			"SELECT encode(sha256(payload), 'hex')
			FROM twtasks.finished_task WHERE id = '$id'"),
		"$size bytes arrive unchanged");
}
my $json =
  $node->add_task('DIGEST', data => '{"a": "\u00e9\n", "b": [1, null]}');

check($json, 'DONE', 1, qr/$/, 'JSON');
is( substr(slurp_file("$directory/$json.digest"), 0, 64),
	$node->value(
		"SELECT encode(sha256(convert_to(data::text, 'UTF8')), 'hex')
		FROM twtasks.finished_task WHERE id = '$json'"),
	'JSON text arrives as stored');

# ---- surroundings ----

my $facts = $node->add_task(
	'FACTS',
	sub_type => 'sub',
	context => '{"request": "r"}');

check($facts, 'DONE', 1, qr/$/, 'command that looks around');
my %env = map { split /=/, $_, 2 } split /\n/, slurp_file("$directory/env");

is_deeply(
	[ sort grep { /^TWTASKS_/ } keys %env ],
	[
		map { "TWTASKS_$_" }
		  qw(CONTEXT DEADLINE ID SUB_TYPE TRIES TYPE VERSION)
	],
	'the environment holds the facts of the task');
is( join(
		' ',
		@env{
			qw(TWTASKS_ID TWTASKS_VERSION TWTASKS_TYPE TWTASKS_SUB_TYPE TWTASKS_TRIES TWTASKS_CONTEXT)
		}),
	"$facts 1 FACTS sub 1 {\"request\": \"r\"}",
	'the environment holds the task\'s own values');
like(
	$env{TWTASKS_DEADLINE},
	qr/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/,
	'the environment holds the deadline');
is_deeply(
	[
		grep {
			!/^(TWTASKS_\w+|PATH|HOME|LANG|LC_ALL|TZ|USER|TMPDIR|PWD|OLDPWD|SHLVL|_)$/
		} sort keys %env
	],
	[],
	'the environment has nothing of the sidecar\'s own');
is(join(' ', split /\n/, slurp_file("$directory/fds")),
	'0 1 2 3', 'a command inherits no descriptor (3 is that of ls)');
wait_ok(
	sub { $sidecar->descriptors == $descriptors },
	'no descriptor of the sidecar is left open');
is($sidecar->stop, 0, 'the sidecar stops in order');

done_testing();
