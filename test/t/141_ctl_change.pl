# 141_ctl_change.pl -- changes of tasks with twtasksctl: one by the version that was
# shown, many by a filter whose preview is true, and nothing without a yes.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Ctl;

my $node = TwTasks::Cluster->create('main');

$node->value(<<'SQL');
	CREATE ROLE operator LOGIN IN ROLE twtasks_operator;
	CREATE ROLE viewer LOGIN IN ROLE twtasks_viewer;
SQL
my $ctl = TwTasks::Ctl->new($node, 'operator');
my $producer = TwTasks::Ctl->new($node, 'producer');
my $reason = [ '--reason', 'a test' ];

sub audited
{
	return $node->value('SELECT count(*) FROM twtasks.audit');
}

# ---- one ----

my $id = $producer->json(0, [ 'add', 'ONE', '{"n": 1}', '--key', 'one', '--run-after', '2h' ])->{task_id};

is($node->status_of($id), 'WAITING', 'a task is added for later');
$ctl->ends(2, [ 'hold', $id ], 'a change needs a reason');
$ctl->ends(2, [ 'hold', @$reason ], 'a change needs an id or a filter');
$ctl->ends(2, [ 'hold', $id, '--type', '*', @$reason ], 'and not both');
$ctl->ends(2, [ 'hold', $id, '--dry-run', '--yes', @$reason ], 'a dry run of one task is refused');
$ctl->ends(2, [ 'hold', $id, '--version', '', @$reason ], 'an empty version is no version');
$ctl->ends(2, [ 'hold', '--type', 'ONE', '--version', 0, @$reason ], 'a version needs an id');
is($node->status_of($id), 'WAITING', 'and nothing changes');
$ctl->ends(2, [ 'hold', $id, '--watch', '1s', @$reason ], 'only verbs that look are repeated');
my ($out, $err) = $ctl->ends(1, [ 'hold', $id, @$reason ], 'without an answer nothing is changed');

like($out, qr/^would hold \Q$id\E of type ONE: WAITING since \S+ \S+, version 0\. Continue\? \[y\/N\] $/, 'the task is shown');
like($err, qr/nothing was changed/, 'it says that nothing was changed');
$ctl->ends(1, [ 'hold', $id, @$reason ], 'nor after a no', input => "n\n");
is($node->status_of($id), 'WAITING', 'the task is as it was');
$ctl->ends(0, [ 'hold', '--key', 'one', @$reason ], 'a yes holds it', input => "y\n");
is($node->status_of($id), 'HELD', 'the task is held');
my $refused = $ctl->json(1, [ 'hold', $id, '--yes', @$reason ], 'a held task is not held again');

is($refused->{result}, 'wrong_status', 'why it was not');
is($ctl->json(1, [ 'release', $id, '--version', 0, '--run-after', '1h', @$reason ])->{result},
	'wrong_version', 'another version than the one that was seen');
is($ctl->json(0, [ 'release', $id, '--version', 1, '--run-after', '1h', @$reason ])->{result},
	'changed', 'the version that was seen');
is($node->value("SELECT next_event_time > clock_timestamp() + interval '50 min' FROM twtasks.tasks WHERE id = '$id'"),
	't', 'a duration is from now on');
$ctl->ends(0, [ 'reschedule', $id, '--run-after', '2100-01-01', '--yes', @$reason ]);
$ctl->ends(0, [ 'prioritize', $id, '--priority', 1, '--yes', @$reason ]);
is($node->value("SELECT priority FROM twtasks.tasks WHERE id = '$id'"), 1, 'another priority');
is($ctl->json(0, [ 'prioritize', $id, '--priority', 1, '--yes', @$reason ], 'the priority that it has is a success')->{result}, 'unchanged', 'and no change');
$ctl->ends(0, [ 'cancel', $id, '--yes', @$reason ]);
$ctl->ends(0, [ 'reopen', $id, '--run-after', '2100-01-01', '--yes', @$reason ]);
$ctl->ends(0, [ 'resume', $id, '--yes', @$reason ]);
$ctl->ends(0, [ 'hold', $id, '--yes', @$reason ]);
$ctl->ends(0, [ 'cancel', $id, '--yes', @$reason ]);
$ctl->ends(1, [ 'fail', $id, '--yes', @$reason ], 'a cancelled task cannot be given up');
is(audited(), 9, 'the audit has each change, and no other');
$ctl->ends(1, [ 'resume', '--key', 'none', @$reason ], 'no such task');

# ---- many ----

$node->add_many('MANY|A', 2500, 2500);
$node->add_many('MANY|B', 30, 30);
$node->add_many('OTHER', 5, 5);
my $before = audited();

($out) = $ctl->ends(0, [ 'hold', '--type', 'MANY|*', '--dry-run', @$reason ]);
is($out, "would hold 2530 tasks: MANY|A in SUBMITTED 2500, MANY|B in SUBMITTED 30. \n", 'a preview');
$ctl->ends(2, [ 'hold', '--type', 'MANY|*', '--yes', @$reason ], '--yes needs the number that is expected');
(undef, $err) = $ctl->ends(1, [ 'hold', '--type', 'MANY|*', '--yes', '--expect', 2529, @$reason ], 'another number than expected');
like($err, qr/matches 2530 tasks, and not 2529: nothing was changed/, 'it names both numbers');
$ctl->ends(1, [ 'hold', '--type', 'MANY|*', @$reason ], 'no without an answer');
is(audited(), $before, 'nothing was changed so far');
($out) = $ctl->ends(0, [ 'hold', '--type', 'MANY|*', @$reason ], 'all in batches', input => "y\n");
like($out, qr/^would hold 2530 tasks.*2530 changed\. Audit: twtasksctl audit --since 1min\n$/s, 'counts of what was done');
is(audited() - $before, 2530, 'the audit has each of them');
is($node->tasks("type = 'OTHER' AND status = 'SUBMITTED'"), 5, 'no other task was changed');
my $document = $ctl->json(0, [ 'release', '--type', 'MANY|B', '--status', 'held', '--yes', '--expect', 30, @$reason ]);

is_deeply($document, {
		would_change => 30,
		groups => [ { type => 'MANY|B', status => 'HELD', tasks => 30 } ],
		results => { changed => 30 } },
	'the document of a change');
$document = $ctl->json(0, [ 'resume', '--type', 'NONE', @$reason ]);
is($document->{would_change}, 0, 'a filter that matches none');
is_deeply($ctl->json(0, [ 'prioritize', '--type', 'MANY|B', '--priority', 0, '--yes', '--expect', 30, @$reason ])->{results}, { changed => 30 }, 'a priority for many');
is($node->tasks("type = 'MANY|B' AND priority = 0"), 30, 'all have it');
is_deeply($ctl->json(0, [ 'prioritize', '--type', 'MANY|B', '--priority', 0, '--yes', '--expect', 30, @$reason ], 'the same verb again is a success')->{results},
	{ unchanged => 30 }, 'and changes none');
is(scalar @{ $ctl->json(0, [ 'audit', '--max', 7 ]) }, 7, 'the audit can be read');

# A filter is data.
$ctl->json(0, [ 'cancel', '--error', "'; DROP TABLE twtasks.task; --", @$reason ]);
is($node->tasks("type = 'OTHER'"), 5, 'a filter is not SQL');

# ---- what the preview did not show ----

my $race = $node->add_task('RACE');
my $session = $node->session;
my @race = ('cancel', '--type', 'RACE', '--yes', '--expect', 1, @$reason);

$session->query('BEGIN');
$session->query("SELECT FROM twtasks.task WHERE id = '$race' FOR UPDATE");
is_deeply($ctl->json(1, \@race)->{results}, { busy => 1 }, 'a task that another session holds is told of');
$session->query('ROLLBACK');
$ctl->ends(0, \@race, 'and changed later');

$node->add_many('LATE', 3, 3);
my $limits;
my ($status, $said) = $ctl->run_between(
	[ 'hold', '--type', 'LATE', @$reason ],
	sub {
		$limits = slurp_file("/proc/$_[0]/limits");
		$node->add_many('LATE', 2, 2);
	});

is($status, 0, 'a change while others add tasks');
like($limits, qr/^Max core file size +0 +0 /m, 'a crash of twtasksctl writes no memory to a file');
like($said, qr/would hold 3 tasks.*\n?3 changed/s, 'it changes the tasks that it showed');
is($node->tasks("type = 'LATE' AND status = 'SUBMITTED'"), 2, 'and no task that came later');

# ---- a change that breaks half-way ----

$node->add_many('BREAKS', 2500, 2500);
$node->value('CREATE SEQUENCE public.changes');
$node->value('GRANT ALL ON public.changes TO PUBLIC');
sub break_at
{
	my ($change, $statement) = @_;

	$node->value("SELECT setval('public.changes', 1, false)");
	$node->value("CREATE OR REPLACE FUNCTION public.breaks() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS \$\$BEGIN"
			. " IF nextval('public.changes') = $change THEN $statement; END IF; RETURN NEW; END\$\$");
}
# The preview makes each change, too.
break_at(2500 + 1500, q{RAISE EXCEPTION 'no room'});
$node->value('CREATE TRIGGER breaks BEFORE INSERT ON twtasks.audit FOR EACH ROW EXECUTE FUNCTION public.breaks()');
(undef, $err) = $ctl->ends(1, [ 'hold', '--type', 'BREAKS', '--yes', '--expect', 2500, @$reason ], 'a change that fails half-way');
like($err, qr/no room\n.*^Committed before: 1000 of 2500 tasks: 1000 changed\.\nhint: .*the same verb again/ms, 'it says what is committed');
is($node->tasks("type = 'BREAKS' AND status = 'HELD'"), 1000, 'which is true');
break_at(1500 + 1, q{RAISE EXCEPTION 'no room'});
(undef, $err) = $ctl->ends(1, [ 'hold', '--type', 'BREAKS', '--yes', '--expect', 1500, @$reason ], 'a change that fails at once');
like($err, qr/^Committed before: 0 of 1500 tasks\.$/m, 'nothing is committed');
break_at(1500 + 1200, 'PERFORM pg_terminate_backend(pg_backend_pid())');
(undef, $err) = $ctl->ends(3, [ 'hold', '--type', 'BREAKS', '--yes', '--expect', 1500, @$reason ], 'a connection that is lost half-way');
like($err, qr/^Committed before: 1000 of 1500 tasks: 1000 changed\.$/m, 'it says the same');
$node->value('DROP TRIGGER breaks ON twtasks.audit');
($out) = $ctl->ends(0, [ 'hold', '--type', 'BREAKS', '--yes', '--expect', 500, @$reason ], 'the same verb again');
like($out, qr/^500 changed\./m, 'takes the rest');
is($node->tasks("type = 'BREAKS' AND status = 'HELD'"), 2500, 'each of them');
# ---- unknown outcomes ----

sub decisions
{
	my ($id) = @_;
	my ($text) = $ctl->ends(0, [ 'unknown', '--type', 'LOST' ]);

	return $text =~ /^\Q$id\E .*\n(?:  its .*\n)?  if it has happened:      twtasksctl (.*)\n  if it has not happened:  twtasksctl (.*)$/m;
}

# Does what unknown says.
sub decide
{
	my ($command) = @_;

	$command =~ s/ --reason '...'$//;
	return $ctl->ends(0, [ split(/ /, $command), '--yes', '--reason', 'asked the bank' ], $command);
}

my ($text) = $ctl->ends(0, ['unknown']);
is($text, "no task waits whose outcome is unknown\n", 'no unknown outcome');
my @lost = map { $node->add_task('LOST', key => "lost $_") } 1 .. 3;
my $incarnation = $node->value("SELECT twtasks_internal.start_node('gone')");

$node->value(<<"SQL");
	SELECT twtasks_internal.grab_tasks(ARRAY(SELECT id FROM twtasks.tasks WHERE type = 'LOST'), '{0,0,0}', $incarnation, 1, '{60000,60000,60000}', '{error,error,error}');
	UPDATE twtasks.task SET deadline = clock_timestamp() - interval '1 s' WHERE type = 'LOST';
	SELECT twtasks_internal.recover_tasks();
	SELECT twtasks_internal.finish_tasks(ARRAY['$lost[0]'::uuid], '{1}', '{done}', '{0}', '{paid}', $incarnation, 2);
	SELECT twtasks.hold_task('$lost[2]', 2, 'ask first');
	SELECT twtasks_internal.end_node($incarnation);
SQL
is(scalar @{ $ctl->json(0, [ 'unknown', '--type', 'LOST' ]) }, 3, 'unknown outcomes');
is(scalar @{ $ctl->json(0, [ 'unknown', '--type', 'OTHER*' ]) }, 0, 'of one type');
($text) = $ctl->ends(0, ['unknown']);
like($text, qr/^\Q$lost[0]\E of type LOST, key lost 1: lost at \S+ \S+ on node gone: its deadline passed without a result\n  its result came too late, at .*: done: paid$/m,
	'which task, and what is known of it');
my ($happened) = decisions($lost[0]);
my (undef, $not_happened) = decisions($lost[1]);
my (undef, $held) = decisions($lost[2]);

($out) = $ctl->ends(1, [ split(/ /, $happened =~ s/ --reason.*//r), @$reason ], 'the verb shows the task and asks');
like($out, qr/^would confirm \Q$lost[0]\E .*Continue/, 'as the others do');
my $known = $node->add_task('LOST|known');

$node->value("UPDATE twtasks.task SET status = 'ERROR', queued = false, next_event_time = 'infinity', error = 'no account' WHERE id = '$known'");
($out) = $ctl->ends(0, [ 'confirm', '--type', 'LOST*', '--dry-run', @$reason ]);
like($out, qr/^would confirm 3 tasks: /, 'a filter finds only tasks whose outcome is unknown');
($out) = $ctl->ends(0, [ 'confirm', '--type', 'LOST', '--status', 'HELD', '--dry-run', @$reason ]);
like($out, qr/^would confirm 1 task: LOST in HELD 1\./, 'in a status');
decide($_) foreach $happened, $not_happened, $held;
is($node->value("SELECT string_agg(status::text, ' ' ORDER BY key) FROM twtasks.tasks WHERE type = 'LOST'"), 'DONE WAITING WAITING', 'each is decided');
is(scalar @{ $ctl->json(0, ['unknown']) }, 0, 'and none is left');

# ---- wait, why, list ----

(undef, $err) = $ctl->ends(1, [ 'wait', $race ], 'a cancelled task is over');
like($err, qr/^CANCELLED, version 1/, 'wait tells the state');
my $open = $node->add_task('OPEN');

(undef, $err) = $ctl->ends(1, [ 'wait', $open, '--for', '1ms' ], 'a wait has an end');
like($err, qr/not over after 1ms/, 'a wait says that it is over');
($out) = $ctl->ends(0, [ 'why', $open ]);
like($out, qr/no node|no sidecar/i, 'why says in a sentence why a task does not run');
is($ctl->json(0, [ 'why', $open ])->{reason}, 'no node', 'why has the columns of the function');
my $page = $ctl->json(0, [ 'list', '--type', 'MANY|*', '--max', 40 ]);

is(scalar @{ $page->{tasks} }, 40, 'a page of tasks');
is($page->{is_complete}, JSON::PP::false, 'there are more');
my $next = $ctl->json(0, [ 'list', '--type', 'MANY|*', '--max', 40, '--after', $page->{cursor} ]);

isnt($next->{tasks}[0]{id}, $page->{tasks}[0]{id}, 'the next page');
($out) = $ctl->ends(0, [ 'list', '--type', 'MANY|*', '--max', 1 ]);
like($out, qr/^looked at \d+ tasks, back to .*; go on with --after [0-9a-f]+$/m, 'how far it looked, and how to go on');
done_testing();
