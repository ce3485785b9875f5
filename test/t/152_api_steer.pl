# 152_api_steer.pl -- limits, policies, buckets, schedules, incidents and silences by
# the management API: a change of what somebody else has changed meanwhile is
# refused, and the audit names the person and the reason.

use strict;
use warnings FATAL => 'all';

use JSON::PP;
use POSIX ();
use Test::More;
use TwTasks::Api;
use TwTasks::Cluster;
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');
my $web = TwTasks::Api->start($node, 'web');

# 'STATUS problem' of a request by the operator, and its body.
sub said
{
	my ($method, $path, %body) = @_;
	my ($status, $answer, $whole) = $web->call_as_described('otto', $method, $path, body => { reason => "to $method", %body });

	return join(' ', $status, ($answer->{type} // '') =~ s{^/problems/}{}r || ()), $answer, $whole;
}

# The object of a list, as a viewer sees it.
sub seen
{
	my ($list, $member, $name) = @_;
	my ($found) = grep { $_->{$member} eq $name } @{ ($web->call('vera', 'GET', "/$list"))[1]{items} };

	return $found // {};
}

# The last entry of the audit.
sub noted
{
	return $node->value(q{SELECT concat_ws(' ', kind, name, on_behalf_of, reason) FROM twtasks.policy_audit ORDER BY id DESC LIMIT 1});
}

# ---- objects with a version ----

# Makes, changes and removes an object: its list, member and name, the members of
# two states, and how the second one is seen.
sub live
{
	my ($list, $member, $name, $one, $two, $shown) = @_;
	my $path = "/$list/" . $name =~ s/([^A-Za-z0-9_.-])/sprintf '%%%02X', ord $1/ger;
	my %scope = map { $_ => $one->{$_} } grep { $_ eq 'scope' } keys %$one;
	my ($said, $answer) = said('PUT', $path, %$one);

	is($said, '428 no-version', "$list: no version");
	($said, $answer) = said('PUT', $path, %$one, version => 'new');
	is("$said $answer->{$member}", "200 $name", "$list: made");
	is(noted() =~ s/^\w+ //r, "$name otto to PUT", '... by whom, and why');
	my $old = seen($list, $member, $name)->{changed_at};

	is($old, $answer->{changed_at}, '... and seen');
	is(seen($list, $member, $name)->{changed_by}, 'otto', '... with its author');
	($said, $answer) = said('PUT', $path, %$one, version => 'new');
	is("$said $answer->{version}", "409 wrong-version $old", "$list: made before");
	($said, $answer, my $whole) = said('PUT', $path, %$two, version => $old);
	is($said, '200', "$list: changed");
	is($whole->{headers}{etag}, "\"$answer->{changed_at}\"", '... its version is an ETag');
	is_deeply({ map { $_ => seen($list, $member, $name)->{$_} } keys %$shown }, $shown, '... what is absent is unset');
	($said) = said('PUT', $path, %$one, version => $old);
	is($said, '409 wrong-version', "$list: a lost race");
	is(seen($list, $member, $name)->{changed_at}, $answer->{changed_at}, '... overwrites nothing');
	my @races = map { race('PUT', $path, %$one, version => $answer->{changed_at}, reason => "racer $_") } 1 .. 3;

	is(wins(@races), 1, "$list: one of those who race wins");
	my $new = seen($list, $member, $name)->{changed_at};

	is((said('DELETE', $path, %scope, version => $old))[0], '409 wrong-version', "$list: removed too late");
	is((said('DELETE', $path, %scope))[0], '428 no-version', "$list: removed without a version");
	is((said('DELETE', $path, %scope, version => $new))[0], '200', "$list: removed");
	is(noted() =~ s/^\w+ //r, "$name otto to DELETE", '... by whom, and why');
	is((said('DELETE', $path, %scope, version => $new))[0], '404 not-found', "$list: removed before");
	is((said('PUT', $path, %$one, version => $new))[0], '409 wrong-version', "$list: it is gone");
}

sub race
{
	my @request = @_;

	pipe my $from, my $to or die "pipe: $!";
	my $pid = fork // die "fork: $!";

	if (!$pid)
	{
		syswrite $to, (said(@request))[0];
		POSIX::_exit(0);
	}
	close $to;
	return [ $pid, $from ];
}

# How many of them were allowed; the others hear of a conflict, or are asked to come again.
sub wins
{
	my $wins = 0;

	foreach my $race (@_)
	{
		my ($pid, $from) = @$race;
		my $text = do { local $/; <$from> };

		waitpid $pid, 0;
		$wins++ if $text eq '200';
		fail("a race ends with $text") if $text !~ /^(200$|409 |503 )/;
	}
	return $wins;
}

live('limits', 'pattern', 'PAYOUT/1|*', { scope => 'cluster', concurrency => 5, rate => 10, per => '1 minute' },
	{ scope => 'cluster', concurrency => 6 }, { concurrency => 6, rate => undef, per => undef });
live('policies', 'pattern', 'PAYOUT|*', { options => { priority => 1, timeout => '90 s' } }, { options => { timeout => '2 min', nodes => ['n1'] } },
	{ priority => undef, timeout => '00:02:00', nodes => ['n1'] });
live('buckets', 'name', 'pictures', { description => 'pictures', concurrency => 4 }, { description => 'large ones' }, { concurrency => undef, description => 'large ones' });

# ---- values that do not fit ----

is((said('PUT', '/limits/A', scope => 'node', version => 'new'))[0], '422 unprocessable', 'a limit of nothing');
is((said('PUT', '/limits/A', scope => 'moon', concurrency => 1, version => 'new'))[0], '400 bad-request', 'another scope');
is((said('PUT', '/limits/A', scope => 'node', concurrency => 1, version => 'seen'))[0], '422 unprocessable', 'a version that is none');
is((said('PUT', '/policies/A', options => { timeouts => '1 s' }, version => 'new'))[0], '422 unprocessable', 'an unknown option');
is((said('PUT', '/policies/A', options => {}, version => 'new'))[0], '422 unprocessable', 'a policy without options');
is((said('PUT', '/policies/A', options => ['timeout'], version => 'new'))[0], '422 unprocessable', 'options that are no object');
$node->value(<<'SQL');
	CREATE SCHEMA app;
	GRANT USAGE ON SCHEMA app TO PUBLIC;
	CREATE FUNCTION app.hears(tasks twtasks.ended_task[]) RETURNS void LANGUAGE sql SET search_path = pg_catalog, pg_temp AS 'SELECT';
	SELECT twtasks.configure_type('HEARD', on_end => 'app.hears', priority => 2);
SQL
my $heard = seen('policies', 'pattern', 'HEARD');

is((said('PUT', '/policies/HEARD', options => { on_end => 'none' }, version => $heard->{changed_at}))[0], '200', 'an operator may take functions away');
is((said('PUT', '/policies/HEARD', options => { on_end => 'app.hears' }, version => seen('policies', 'pattern', 'HEARD')->{changed_at}))[0],
	'403 forbidden', '... and name none');
$node->value(q{SELECT twtasks.configure_type('HEARD', on_end => 'app.hears')});
is((said('PUT', '/policies/HEARD', options => { on_end => 'app.hears', priority => 3 }, version => seen('policies', 'pattern', 'HEARD')->{changed_at}))[0],
	'200', '... but leave one as it is');
$node->value(q{SELECT twtasks.configure_bucket('busy', 'a test')});
$node->add_task('BUSY', bucket => 'busy');
is((said('DELETE', '/buckets/busy', version => seen('buckets', 'name', 'busy')->{changed_at}))[0], '409 wrong-status', 'a bucket with tasks stays');
is((said('PUT', '/buckets/default', description => 'all', version => 'new'))[0], '200', 'the default bucket can have options');

# ---- pauses ----

foreach my $place ([ 'policies/PAYOUT%7C*', 'type', 'PAYOUT|*' ], [ 'buckets/default', 'bucket', 'default' ])
{
	my ($path, $kind, $name) = @$place;
	my ($said, $answer) = said('POST', "/$path/pause", reason => 'the bank is down');

	is($said, '200', "$path: paused");
	is(noted(), "pause $name otto the bank is down", '... by whom, and why');
	is(seen('pauses', 'name', $name)->{paused_by}, 'otto', '... for all to see');
	is((said('POST', "/$path/pause"))[0], '409 wrong-status', '... once');
	is((said('POST', "/$path/resume", version => '2020-01-01T00:00:00Z'))[0], '409 wrong-version', '... an older pause is over');
	is((said('POST', "/$path/resume"))[0], '428 no-version', '... which one is to be said');
	is((said('POST', "/$path/resume", version => $answer->{since}, reason => 'it is back'))[0], '200', "$path: resumed");
	is(noted(), "pause $name otto it is back", '... by whom, and why');
	is((said('POST', "/$path/resume", version => $answer->{since}))[0], '409 wrong-status', '... once');
}

# ---- what if ----

$node->value(q{SELECT twtasks.configure_limit('WHAT', 2)});
my ($status, $answer) = $web->call_as_described('vera', 'POST', '/limits/WHAT/what-if', body => { concurrency => 4 });

is("$status $answer->{current}", '200 2', 'a viewer may ask what would be');
like($answer->{sentence}, qr/with 4/, '... in words');
is(($web->call_as_described('vera', 'POST', '/limits/NONE/what-if', body => { concurrency => 4 }))[0], 404, '... of a limit that there is');

# ---- schedules ----

$node->value(q{SELECT twtasks.schedule('nightly', '0 0 1 1 *', 'SETTLE')});
sub schedule
{
	my ($action, %body) = @_;

	return said('POST', "/schedules/nightly/$action", reason => "to $action", %body);
}
my $version = seen('schedules', 'name', 'nightly')->{changed_at};
my @runs = map { race('POST', '/schedules/nightly/run', version => $version, reason => 'twice') } 1 .. 2;

is(wins(@runs), 1, 'two people who run a schedule at once add one task');
is($node->tasks(q{type = 'SETTLE'}), 1, '... really');
is((schedule('run'))[0], '428 no-version', 'a version is needed');
$version = seen('schedules', 'name', 'nightly')->{changed_at};
my ($said) = schedule('resume', version => $version);

is($said, '409 wrong-status', 'it is not paused');
($said, $answer) = schedule('pause', version => $version);
is("$said $answer->{result}", '200 paused', 'paused');
is((schedule('resume', version => $version))[0], '409 wrong-version', 'that was before the pause');
($said, $answer) = schedule('resume', version => $answer->{changed_at});
is("$said $answer->{result}", '200 resumed', 'resumed');
is((said('POST', '/schedules/none/run', version => $version))[0], '404 not-found', 'no such schedule');
is( $node->value(q{SELECT string_agg(concat_ws(' ', action, on_behalf_of, reason), ', ' ORDER BY id) FROM twtasks.schedule_audit WHERE action <> 'schedule'}),
	'run now otto twice, pause otto to pause, resume otto to resume',
	'the audit names the person and the reason');

$node->value('TRUNCATE twtasks.schedule_audit');
is((schedule('pause', version => seen('schedules', 'name', 'nightly')->{changed_at}))[0], '200', 'a schedule that was changed longer ago than the audit is kept');

# ---- incidents ----

$node->value(<<'SQL');
	INSERT INTO twtasks.incident (key, kind, object, severity, opened, refreshed, count, summary)
	VALUES ('error/PAYOUT|1', 'error', 'PAYOUT|1', 'ticket', now(), now(), 1, 'a test');
SQL
is((said('POST', '/incidents/error%2FPAYOUT%7C1/acknowledge'))[0], '200', 'an incident is taken on');
is(noted(), 'incident error/PAYOUT|1 otto to POST', '... by whom, and why');
is(seen('incidents', 'key', 'error/PAYOUT|1')->{acknowledged_by}, 'otto', '... for all to see');
is((said('POST', '/incidents/error%2FPAYOUT%7C1/acknowledge'))[0], '409 wrong-status', '... once');
is((said('POST', '/incidents/error%2FNONE/acknowledge'))[0], '404 not-found', 'no such incident');
my $until = $node->value(q{SELECT to_char(now() AT TIME ZONE 'UTC' + interval '1 day', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')});

($said, $answer, my $whole) = said('POST', '/silences', pattern => 'PAYOUT*', until => $until);
is($said, '201', 'a silence');
is($whole->{headers}{location}, "silences/$answer->{id}", '... has a place beside its path');
is(noted(), 'silence */PAYOUT* otto to POST', '... by whom, and why');
is(seen('silences', 'id', $answer->{id})->{actor}, 'otto', '... for all to see');
is((said('POST', '/silences', pattern => 'PAYOUT*', until => '2020-01-01T00:00:00Z'))[0], '422 unprocessable', 'a silence that is over');
is((said('DELETE', "/silences/$answer->{id}"))[0], '200', 'its end');
is(noted(), 'silence */PAYOUT* otto to DELETE', '... by whom, and why');
is((said('DELETE', "/silences/$answer->{id}"))[0], '409 wrong-status', '... once');
is((said('DELETE', '/silences/999'))[0], '404 not-found', 'no such silence');
is_deeply($web->faults, [], 'each answer is as its description says');
cmp_ok(scalar keys %{ $web->{judged} }, '>', 10, 'and many are described');
done_testing();
