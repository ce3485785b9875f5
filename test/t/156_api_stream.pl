# 156_api_stream.pl -- GET /stream: it tells which tasks, and that the first page, have
# changed, and no more; fifty streams cost the statements of one.

use strict;
use warnings FATAL => 'all';

use IO::Socket::INET;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);
use TwTasks::Api;
use TwTasks::Cluster;
use TwTasks::Wait;

use constant VIEWERS => 50;
use constant PERIOD => 2;				# seconds: API_STREAM_LOOK_US
use constant OF_ONE => 8;				# API_STREAMS_OF_ONE
use constant CANARY => 'canary-19d2';

$TwTasks::Api::people{paul} = 'payload';
$TwTasks::Api::people{"viewer$_"} = 'viewer' foreach 1 .. VIEWERS;

my $node = TwTasks::Cluster->create('main', conf => { log_statement => 'all' });
my $web = TwTasks::Api->start($node, 'web', connections_per_address => 100);
my @ids = map { $node->add_task('STREAM', data => '{"secret": "' . CANARY . '"}', run_after => '2100-01-01') } 1 .. 2;

# A stream of a person; [socket, what it got].
sub stream
{
	my ($person, @tasks) = @_;
	my $socket = IO::Socket::INET->new($web->{config}{listen}) or die "could not connect: $!";
	my $query = @tasks ? '?task=' . join ',', @tasks : '';

	$socket->blocking(0);
	syswrite $socket, "GET /api/v1/stream$query HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer $web->{api_tokens}{$person}\r\n\r\n";
	return { socket => $socket, text => '' };
}

# Reads what there is; returns whether the stream has ended.
sub take
{
	my ($stream) = @_;
	my $got;

	1 while $got = sysread $stream->{socket}, $stream->{text}, 65536, length $stream->{text};
	return defined $got || !$!{EAGAIN} || $stream->{text} =~ /\r\n0\r\n\r\n$/;
}

# How many such events it had.
sub count_events
{
	my ($stream, $event, $data) = @_;

	take($stream);
	return scalar(() = $stream->{text} =~ /^event: $event\ndata: $data\n\n/mg);
}

sub wait_event
{
	my ($name, $stream, $n, $event, $data) = @_;

	wait_ok(sub { count_events($stream, $event, $data) >= $n }, $name);
}

# ---- who may ask, and for what ----

is(($web->call(undef, 'GET', '/stream'))[0], 401, 'nobody');
is(($web->call('paul', 'GET', '/stream'))[0], 403, 'no viewer');
is(($web->call('vera', 'GET', '/stream?task=1'))[0], 400, 'no id');
is(($web->call('vera', 'GET', "/stream?task=$ids[0],"))[0], 400, 'an id is missing');
is(($web->call('vera', 'GET', '/stream?task=' . join ',', ($ids[0]) x 21))[0], 400, 'too many tasks');
is(($web->call('vera', 'GET', '/stream?tasks=1'))[0], 400, 'another parameter');

# ---- changes ----

my $first = stream('vera', '{' . uc($ids[0] =~ s/-//gr) . '}', $ids[1]);
my $other = stream('otto');

wait_event('a stream begins with all its names', $first, 1, 'task', $_) foreach @ids;
wait_event('... also with the first page', $first, 1, 'overview', 'changed');
wait_event('... which each stream has', $other, 1, 'overview', 'changed');
like($first->{text}, qr{^HTTP/1.1 200 .*\r\nContent-Type: text/event-stream\r\n}s, '... as server-sent events');

$web->call('vera', 'GET', "/tasks/$ids[0]", memory => 1);
$node->value("SELECT twtasks.hold_task('$ids[0]', 0, 'test')");
wait_event('a task that has changed', $first, 2, 'task', $ids[0]);
is(($web->call('vera', 'GET', "/tasks/$ids[0]", memory => 1))[1]{status}, 'HELD', '... whose answer of before is forgotten');
is(count_events($first, 'task', $ids[1]), 1, '... and no other one');
is(count_events($other, 'task', '.*'), 0, '... is told to those who asked');

my ($look) = PostgreSQL::Test::Utils::slurp_file($node->logfile) =~ /execute <unnamed>: (-- One row for each name.*?GROUP BY t\.id)/s;

# The statement of a look at these tasks, of which some are known to have ended.
sub statement
{
	my ($ids, $ended) = map { "'{" . join(',', @$_) . "}'" } @_;

	return $look =~ s/\$1/$ids/gr =~ s/\$2/$ended/gr;
}

# The state of the first page in a look, but for the ten seconds that have begun.
sub look
{
	my ($state) = $node->value(statement([], [])) =~ /^overview\|\d+ (.*)\|$/;

	return $state;
}
my $state = look();

is(look(), $state, 'the first page has not changed');
foreach my $change (
	q{SELECT twtasks.pause_type('STREAM', 'test')},
	q{SELECT twtasks.schedule('nightly', '0 3 * * *', 'REPORT')},
	q{INSERT INTO twtasks.incident (key, kind, object, severity, opened, refreshed, count, summary) VALUES ('error/X', 'error', 'X', 'ticket', now(), now(), 1, 'x')},
	q{UPDATE twtasks.incident SET refreshed = now() + interval '1 s'},
	q{UPDATE twtasks.incident SET resolved = now()},
	q{SELECT twtasks_internal.monitor_tasks()},
	q{SELECT twtasks_internal.start_node('stream')})
{
	$node->value($change);
	isnt(look(), $state, "... until: $change");
	$state = look();
}

# ---- tasks that have ended ----

# Pages that a look at these tasks reads.
sub pages
{
	my ($shared) = $node->value('SET enable_seqscan = off; EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ' . statement(@_)) =~ /"Shared Hit Blocks": (\d+)/;

	return $shared;
}
my @ended = map { $node->add_task('ENDED') } 1 .. 20;

$node->value("SELECT twtasks.cancel_task('$_')") foreach @ended;
my %row = map { (split /\|/)[0] => $_ } split /\n/, $node->value(statement([ @ids, @ended ], []));

is($row{$_}, "$_|1|history", 'a task in the history is there') foreach $ended[0];
is($row{ $ids[1] }, "$ids[1]|0|live", '... beside one that lives');
is($node->value(statement([@ended], [@ended])) =~ tr/\n//, 0, '... and left out where its end is known');
cmp_ok(pages([@ended], [@ended]), '<', pages([@ended], []) - @ended, '... for which no page of the history is read');
$node->value("SELECT twtasks.reopen_task('$ended[1]', run_after => '2100-01-01')");
like($node->value(statement([@ended], [@ended])), qr/^\Q$ended[1]\E\|2\|live$/m, '... until it is reopened');

my $past = stream('otto', @ended[ 0, 1 ]);

wait_event('a stream tells tasks that have ended', $past, 1, 'task', $ended[0]);
wait_ok(sub { PostgreSQL::Test::Utils::slurp_file($node->logfile) =~ /parameters: \$1 = '\{[^']*', \$2 = '\{[^}]*\Q$ended[0]\E/ }, '... whose history no further look reads');
ok(PostgreSQL::Test::Utils::slurp_file($node->logfile) !~ /parameters: \$1 = '\{[^']*', \$2 = '\{[^}]*\Q$ended[1]\E/, '... but that of tasks that live');
$node->value("SELECT twtasks.cancel_task('$ended[1]')");
wait_event('the end of one is told', $past, 2, 'task', $ended[1]);
is(count_events($past, 'task', $ended[0]), 1, '... and no other');

# ---- many ----

# Looks at the database, as the server logged them.
sub looks
{
	return scalar(() = PostgreSQL::Test::Utils::slurp_file($node->logfile) =~ /twtasks-web read LOG:  execute <unnamed>: -- One row for each name/g);
}
my ($before, $began) = (looks(), time);
my @many = map { stream("viewer$_", $ids[1]) } 1 .. VIEWERS;

wait_ok(sub { VIEWERS == grep { count_events($_, 'task', $ids[1]) == 1 } @many }, 'many streams begin');
$node->value("SELECT twtasks.hold_task('$ids[1]', 0, 'test')");
wait_ok(sub { VIEWERS == grep { count_events($_, 'task', $ids[1]) == 2 } @many }, '... and hear of a change');
my $looks = looks() - $before;

cmp_ok($looks, '>', 0, '... by looks at the database');
cmp_ok($looks, '<=', 2 + (time - $began) / PERIOD, '... of which there are as many as for one');
unlike(join('', map { $_->{text} } $first, $other, @many), qr/@{[ CANARY ]}|STREAM|HELD/, 'a stream has names alone');
like((($web->ask('GET', '/metrics'))[2]{content}), qr/^twtasks_web_streams @{[ VIEWERS + 3 ]}$/m, 'the metrics count them');

# ---- too many ----

my @own = map { stream('vera') } 2 .. OF_ONE;

wait_event('a person has several streams', $own[-1], 1, 'overview', 'changed');
is(take($first), '', '... the first of them goes on');
push @own, stream('vera');
wait_ok(sub { take($first) }, '... and one more ends the oldest');
wait_event('... and begins', $own[-1], 1, 'overview', 'changed');
is(scalar(grep { take($_) } @own), 0, '... beside the others');

my @more = map { stream('otto') } 1 .. 5;

wait_ok(sub { take($_) foreach @more; 1 == grep { $_->{text} =~ m{^HTTP/1.1 503 .*/problems/too-many-streams}s } @more }, 'the server has 64 streams at most');

# ---- the end ----

$web->signal('HUP');
wait_ok(sub { take($other) && @own == grep { take($_) } @own }, 'a reload ends all streams, since rights may have changed');

my $last = stream('otto');
my $locker = $node->session;

wait_event('a client comes back', $last, 1, 'overview', 'changed');
$locker->query('BEGIN; LOCK TABLE twtasks.policy_audit IN ACCESS EXCLUSIVE MODE');
wait_event('a look that fails is told', $last, 1, 'down', 'unavailable');
is(($web->call('otto', 'GET', '/stream'))[0], 503, '... and one more client has its problem');
is(count_events($last, 'down', '.*'), 1, '... it is told once');
$locker->query('COMMIT');
wait_ok(sub { take($last); $last->{text} =~ /event: down\n.*event: overview\n/s }, '... and all names again after a look that succeeds');

# ---- a database that hangs ----

my ($sessions, @frozen) = $node->value(q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'twtasks-web read'});

push @frozen, $node->freeze_backend("application_name = 'twtasks-web read' AND pid <> ALL ('{@{[ join ',', @frozen ]}}')") foreach 1 .. $sessions;
wait_event('a look without an answer is told', $last, 2, 'down', 'unavailable');
is(($web->call('otto', 'GET', '/stream'))[0], 503, '... and one more client has its problem at once');
kill 'CONT', @frozen;
wait_ok(sub { take($last); $last->{text} =~ /(?:event: down\n.*event: overview\n.*){2}/s }, '... until there is one');
$web->signal('TERM');
is($web->wait_for_exit, 0, 'the server ends in order beside a stream');
ok(take($last), '... which has ended');

done_testing();
