# 152_api_act.pl -- changes of tasks by the management API: each route once, versions
# and statuses that do not fit, reasons, previews that bind, and payloads.

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Api;
use TwTasks::Cluster;
use TwTasks::Wait;

use constant NOBODY => '00000000-0000-4000-8000-000000000000';
use constant CANARY => 'canary-41d7';

my $node = TwTasks::Cluster->create('main');
my $web = TwTasks::Api->start($node, 'web');

# 'STATUS result or problem' of a request, and its body.
sub said
{
	my ($person, $method, $path, $body, %options) = @_;
	my ($status, $answer) = $web->call_as_described($person, $method, $path, body => $body, %options);

	return join(' ', $status, $answer->{result} // ($answer->{type} // '') =~ s{^/problems/}{}r), $answer;
}

sub changed
{
	my ($id, $action, $version, %more) = @_;

	return said('otto', 'POST', "/tasks/$id/$action", { reason => "to $action", defined $version ? (version => "$version") : (), %more });
}

sub tried
{
	return $web->tried($node, @_);
}

# ---- one task, by each action ----

my $id = $node->add_task('ONE', run_after => '2100-01-01');
my @steps = (
	[ hold => 'HELD' ], [ release => 'WAITING' ], [ reschedule => 'WAITING', run_after => '2099-01-01T00:00:00Z' ],
	[ cancel => 'CANCELLED' ], [ reopen => 'WAITING', run_after => '2099-01-01T00:00:00Z' ], [ resume => 'SUBMITTED' ]);

foreach my $version (0 .. $#steps)
{
	my ($action, $status, %more) = @{ $steps[$version] };
	my ($said, $answer) = changed($id, $action, $version, %more);

	is("$said $answer->{status} $answer->{version}", "200 changed $status " . ($version + 1), "$action");
}
my ($failed) = tried('ONE', 'error', 1);

is((changed($failed, 'prioritize', 2, priority => 1))[0], '200 changed', 'prioritize');
my ($same, $unchanged) = changed($failed, 'prioritize', 3, priority => 1);
is("$same $unchanged->{version}", '200 unchanged 3', 'the priority that it has is a success');
is((changed($failed, 'prioritize', 3, priority => 10))[0], '400 bad-request', 'a priority out of range');
is((changed($failed, 'fail', 3))[0], '200 changed', 'fail');
is( $node->value("SELECT string_agg(concat_ws(' ', action, on_behalf_of, reason), ', ' ORDER BY id) FROM twtasks.audit"),
	join(', ', map { "$_ otto to $_" } (map { $_->[0] } @steps), 'prioritize', 'fail'),
	'the audit names the person and the reason of each');

# ---- what does not fit ----

my ($said, $answer) = changed($id, 'hold', 1);

is("$said $answer->{version} $answer->{task_status}", '409 wrong-version 6 SUBMITTED', 'another version');
($said, $answer) = changed($id, 'fail', 6);
is("$said $answer->{status} $answer->{task_status}", '409 wrong-status 409 SUBMITTED', 'another status');
is((changed($id, 'hold', undef))[0], '428 no-version', 'no version');
is((changed(NOBODY, 'hold', 0))[0], '404 not-found', 'no such task');
is((said('otto', 'POST', "/tasks/$id/hold", { version => '6' }))[0], '400 bad-request', 'no reason');
is((said('otto', 'POST', "/tasks/$id/hold", { version => '6', reason => '  ' }))[0], '400 bad-request', 'a blank reason');
is((changed($id, 'hold', 6, reasons => 'x'))[0], '400 bad-request', 'another member');
is((changed($id, 'reschedule', 6))[0], '400 bad-request', 'a time is missing');
is((said('vera', 'POST', "/tasks/$id/hold", { version => '6', reason => 'x' }))[0], '403 forbidden', 'a viewer');
is($node->state_of($id), 'SUBMITTED 6', 'none of them changed it');
is((said('otto', 'POST', "/tasks/$id/hold", { reason => 'by its ETag' }, headers => { 'If-Match' => '"6"' }))[0], '200 changed', 'If-Match has the version');
is((said('otto', 'POST', "/tasks/$id/release", { version => '7', reason => 'two versions' }, headers => { 'If-Match' => '"6"' }))[0], '400 bad-request', '... and no other one than the body');

# A race: both saw the same version.
my @raced = map { my $n = $_; race(sub { (changed($id, 'release', 7, reason => "racer $n", run_after => '2100-01-01T00:00:00Z'))[0] }) } 1 .. 4;

sub race
{
	my ($do) = @_;

	pipe my $from, my $to or die "pipe: $!";
	my $pid = fork // die "fork: $!";

	if (!$pid)
	{
		syswrite $to, $do->();
		POSIX::_exit(0);
	}
	close $to;
	return [ $pid, $from ];
}
my @ends = map { my ($pid, $from) = @$_; my $text = do { local $/; <$from> }; waitpid $pid, 0; $text } @raced;

is(scalar(grep { $_ eq '200 changed' } @ends), 1, 'one of those who race wins');
is_deeply([ grep { !/^(200 changed|409 |503 )/ } @ends ], [], '... and the others hear of a conflict');
is($node->value("SELECT count(*) FROM twtasks.audit WHERE reason LIKE 'racer %'"), 1, '... and the audit has one change');

# ---- unknown outcomes ----

my @lost = tried('LOST', 'lost', 3);

changed($lost[2], 'hold', 2);
is((changed($lost[0], 'finish', 1, happened => JSON::PP::true))[0], '409 wrong-version', 'a decision on another version');
is(join(' ', map { (changed($lost[$_->[0]], 'finish', $_->[1], happened => $_->[2] ? JSON::PP::true : JSON::PP::false))[1]{status} // '-' } [ 0, 2, 1 ], [ 1, 2, 0 ], [ 2, 3, 0 ]),
	'DONE WAITING WAITING', 'it happened, or it did not');
is((changed($lost[0], 'finish', 3, happened => JSON::PP::true))[0], '409 wrong-status', 'it is decided');
is((changed(NOBODY, 'finish', 3, happened => JSON::PP::true))[0], '404 not-found', 'no such task');
is($node->value("SELECT concat_ws(' ', action, on_behalf_of, reason) FROM twtasks.audit WHERE task_id = '$lost[0]'"), 'confirm otto to finish', '... by whom');

my ($known) = tried('KNOWN', 'error', 1);

is((changed($known, 'finish', 2, happened => $_))[0], '409 wrong-status', "nobody decides on a known outcome: $_") foreach JSON::PP::true, JSON::PP::false;
is($node->state_of($known), 'ERROR 2', '... which stays');

# ---- many ----

sub many
{
	my (%body) = @_;

	return said('otto', 'POST', '/changes', { action => 'resume', reason => 'many', %body });
}
my @errors = tried('MANY', 'error', 12);
my $running = $node->add_task('MANY', run_after => '2100-01-01');
my $preview = (many(filter => { type => 'MANY' }, dry_run => JSON::PP::true, reason => undef))[1];

is_deeply([ @$preview{qw(tasks is_capped)} ], [ 12, JSON::PP::false ], 'a preview');
is_deeply($preview->{groups}, [ { type => 'MANY', from_status => 'ERROR', result => 'would_change', status => 'WAITING', tasks => 12 } ], '... by type and result');
is_deeply([ $preview->{first}, [ sort @{ $preview->{ids} } ] ], [ [ @{ $preview->{ids} }[ 0 .. 9 ] ], [ sort @errors ] ], '... has the ids');
is($node->tasks("type = 'MANY' AND status = 'ERROR'"), 12, '... and changes nothing');
is((many(filter => { type => 'MANY' }, max_tasks => 5, dry_run => JSON::PP::true))[1]{is_capped}, JSON::PP::true, 'a preview may be capped');

is((many(filter => { type => 'MANY' }, expect => 12))[0], '428 no-version', 'a change needs the ids of a preview');
is((many(filter => { types => 'MANY' }, dry_run => JSON::PP::true))[0], '422 unprocessable', 'an unknown member of the filter widens nothing');
is((many(filter => {}, dry_run => JSON::PP::true))[0], '422 unprocessable', 'nor does an empty one');
is((many(filter => { type => 'MANY', status => ['DONE'] }, dry_run => JSON::PP::true))[0], '422 unprocessable', 'nor a status that does not fit');
is((many(filter => { type => 'MANY' }, reason => undef, ids => \@errors))[0], '422 unprocessable', 'nor is a reason optional');
my @more = tried('MANY', 'error', 1);

is((many(filter => { type => 'MANY' }, expect => 12, ids => $preview->{ids}))[0], '409 changed', 'more match by now');
is($node->tasks("type = 'MANY' AND status = 'ERROR'"), 13, '... so nothing is done');
changed($errors[0], 'fail', 2);
($said, $answer) = many(filter => { type => 'MANY' }, expect => 12, ids => [ @errors[ 0 .. 5 ] ]);
is_deeply(
	[ sort map { "$_->{result} $_->{tasks}" } @{ $answer->{groups} } ],
	[ 'changed 5', 'wrong_status 1' ],
	'a part of them, of which somebody else changed one') or diag(explain $answer);
is(exists $answer->{ids}, !!0, '... without their ids');
is( $node->value("SELECT count(DISTINCT task_id) FROM twtasks.audit WHERE reason = 'many' AND on_behalf_of = 'otto' AND action = 'resume'"),
	5, '... each of them in the audit');
is($node->tasks("type = 'MANY' AND status = 'ERROR' AND id = '$more[0]'"), 1, 'a task that the preview did not have is left alone');

# A priority that the tasks have already.
my $five = (many(action => 'prioritize', priority => 5, filter => { type => 'MANY' }, dry_run => JSON::PP::true))[1];
is_deeply([ map { $_->{result} } @{ $five->{groups} } ], [ "unchanged" ], "a preview says that no task would change") or diag(explain $five);

# Under traffic a change touches no task outside its preview.
$node->add_many('TRAFFIC', 40, 40);
$node->value(q{SELECT twtasks.change_tasks('hold', 'TRAFFIC', 'begin')});
my $traffic = fork // die "fork: $!";

if (!$traffic)
{
	my $session = $node->session;

	# Answers do not matter here, but an end by die() would stop the server of the test.
	for (;;)
	{
		$session->try("SELECT twtasks.add_task('TRAFFIC'), twtasks.add_task('TRAFFIC')") // POSIX::_exit(1);
		$session->try(q{SELECT count(*) FROM twtasks.change_tasks('hold', 'TRAFFIC', 'traffic', max_tasks => 2)});
		$session->try(q{SELECT count(*) FROM twtasks.change_tasks('cancel', 'TRAFFIC', 'traffic', statuses => '{HELD}', max_tasks => 1, newest_first => true)});
	}
}
my (%rounds, $touched);

foreach my $round (1 .. 8)
{
	my $seen = (many(action => 'release', filter => { type => 'TRAFFIC' }, dry_run => JSON::PP::true, run_after => '2100-01-01T00:00:00Z', max_tasks => 20))[1];

	$rounds{"round $round"} = { map { $_ => 1 } @{ $seen->{ids} } };
	$answer = (many(action => 'release', filter => { type => 'TRAFFIC' }, ids => $seen->{ids}, run_after => '2100-01-01T00:00:00Z', reason => "round $round"))[1];
	$touched += $_->{tasks} foreach grep { $_->{result} eq 'changed' } @{ $answer->{groups} };
	$node->value(q{SELECT count(*) FROM twtasks.change_tasks('hold', 'TRAFFIC', 'again')});
}
kill 'KILL', $traffic;
waitpid $traffic, 0;
my @strays = grep { my ($reason, $task) = split /\|/; !$rounds{$reason}{$task} }
  split /\n/, $node->value("SELECT reason, task_id FROM twtasks.audit WHERE reason LIKE 'round %'");

is_deeply(\@strays, [], 'no change touched a task that its preview had not');
cmp_ok($touched, '>', 0, "... and $touched were changed");

# ---- payloads ----

my $paid = $node->add_task('PAID', data => encode_json({ iban => CANARY, big => 1 }), payload => '\x' . unpack('H*', 'raw ' . CANARY));
my $secret = $node->add_task('SECRET', data => encode_json({ iban => CANARY }));

$node->value(q{SELECT twtasks.allow_payload('PAID', 'twtasks_payload_viewer')});
sub payload
{
	my ($task, %body) = @_;

	return $web->call_as_described('pia', 'POST', "/tasks/$task/payload", body => { reason => 'customer asks', %body });
}
my ($status, $read, $whole) = payload($paid);

is_deeply([ $status, @$read{qw(data payload context type outcome)} ], [ 200, { iban => CANARY, big => 1 }, 'cmF3IGNhbmFyeS00MWQ3', undef, 'PAID', undef ], 'a payload as JSON');
like($whole->{headers}{'cache-control'}, qr/no-store/, '... that nobody keeps');
is_deeply([ @{ (payload($paid, as => 'text'))[1] }{qw(data payload)} ], [ '{"big": 1, "iban": "' . CANARY . '"}', 'raw ' . CANARY ], '... as text');
is((payload($paid, as => 'base64'))[1]{payload}, 'cmF3IGNhbmFyeS00MWQ3', '... in base64');
$node->value("SELECT twtasks.cancel_task('$paid', NULL, 'a test')");
$node->value(qq{UPDATE twtasks.finished_task SET outcome = '{"fee": 0.10}' WHERE id = '$paid'});
is_deeply((payload($paid))[1]{outcome}, { fee => 0.1 }, 'the outcome as JSON');
is((payload($paid, as => $_))[1]{outcome}, '{"fee": 0.10}', "... as $_, with all digits") foreach qw(text base64);
is((payload($secret))[0], 403, 'a type that the role may not read');
is((payload(NOBODY))[0], 404, 'no such task');
is(($web->call('otto', 'POST', "/tasks/$paid/payload", body => { reason => 'x' }))[0], 403, 'an operator reads none');
is((payload($paid, reason => ''))[0], 400, 'nor is it read without a reason');
is( $node->value("SELECT string_agg(concat_ws(' ', on_behalf_of, coalesce(type, '-'), was_denied, reason), ', ' ORDER BY id) FROM twtasks.payload_read"),
	join(', ', ('pia PAID f customer asks') x 6, 'pia SECRET t customer asks', 'pia - f customer asks'),
	'each request is recorded, also the denied one and the one for nothing');

# ---- a search in payloads ----

sub found
{
	my ($person, %body) = @_;
	my ($status, $answer) = $web->call_as_described($person, 'POST', '/payload-search', body => { reason => 'lost card', data => { iban => CANARY }, %body });

	return "$status " . ($answer->{items} ? join ',', map { $_->{type} } @{ $answer->{items} } : $answer->{type} =~ s{^/problems/}{}r), $answer;
}

my ($found, $page) = found('pia');

is($found, '200 PAID', 'a search finds the type that the role may read, and no other');
is($page->{items}[0]{id}, $paid, '... the task');
is((found('pia', data => { iban => 'other' }))[0], '200 ', '... and none that differ');
is((found('pia', type => 'SECRET'))[0], '403 forbidden', 'a type that the role may not read');
is((found('pia', type => 'SECRET', data => { iban => 'other' }))[0], '403 forbidden', '... whatever its tasks carry');
is((found('pia', reason => ' '))[0], '400 bad-request', 'no reason');
is((found('pia', data => undef))[0], '400 bad-request', 'no data');
is((found('pia', status => ['LOST']))[0], '400 bad-request', 'no status');
is((found('pia', cursor => 'x'))[0], '422 unprocessable', 'no cursor');
is((found('otto'))[0], '403 forbidden', 'an operator does not search');
is( $node->value("SELECT string_agg(concat_ws(' ', on_behalf_of, coalesce(type, '-'), was_denied, search -> 'filter' -> 'data' ->> 'iban'), ', ' ORDER BY id) FROM twtasks.payload_read WHERE task_id IS NULL"),
	join(', ', "pia - f @{[CANARY]}", 'pia - f other', "pia SECRET t @{[CANARY]}", 'pia SECRET t other', "pia - f @{[CANARY]}"),
	'each search is recorded, also the denied ones, with what was searched for');
($status, $read, $whole) = $web->call_as_described('vera', 'GET', '/payload-reads?of=searches');
is(join(' ', $status, map { ($_->{type} // '-') . ($_->{was_denied} ? ' denied' : '') } @{ $read->{items} }), '200 - SECRET denied SECRET denied - -', 'a viewer sees the searches');
unlike($whole->{content}, qr/@{[CANARY]}|other/, '... and not what was searched for');
is(scalar(grep { !$_->{task_id} } @{ ($web->call('vera', 'GET', '/payload-reads'))[1]{items} }), 0, '... apart from the reads');
unlike($web->log . PostgreSQL::Test::Utils::slurp_file($node->logfile), qr/@{[CANARY]}|cmF3IGNhbm/, 'no log has what was read');

# ---- to-do items ----

is((said('otto', 'POST', '/to-do/approval/1', { data => {} }))[0], '501 not-installed', 'without twtasks_kinds');
$node->add_extensions('kinds');
$node->value(<<'SQL');
	CREATE SCHEMA app;
	GRANT USAGE ON SCHEMA app TO PUBLIC;
	CREATE FUNCTION app.decide(read_model jsonb, data jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE
		SET search_path = pg_catalog, pg_temp AS $$ SELECT '{"decision": "yes"}'::jsonb $$;
	SELECT twtasks.configure_kind('approval', 'to_do', 'APPROVAL', '{/n}', decide => 'app.decide', readers => '{twtasks_operator}', answerers => '{twtasks_operator}');
	SELECT twtasks.start('approval', '{"n": "1"}');
SQL
is((said('otto', 'POST', '/to-do/approval/1', { data => { n => '1', approved => JSON::PP::true } }))[0], '200 decided', 'an answer');
is((said('otto', 'POST', '/to-do/approval/1', { data => { n => '1' } }))[0], '409 wrong-status', 'a second answer');
is((said('otto', 'POST', '/to-do/approval/2', { data => { n => '2' } }))[0], '404 not-found', 'no such item');
is_deeply($web->faults, [], 'each answer is as its description says');
cmp_ok(scalar keys %{ $web->{judged} }, '>', 3, 'and many are described');
done_testing();
