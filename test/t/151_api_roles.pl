# 151_api_roles.pl -- each route of the management API, by each method, for each
# person.  A person who may ask gets 200 or 201 for a right request; all others get
# 401 or 403, and change nothing.  No answer but a payload shows what a task carries.

use strict;
use warnings FATAL => 'all';

use FindBin;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Api;
use TwTasks::Cluster;

use constant CANARY => 'canary';
use constant LATER => '2100-01-01T00:00:00Z';

$TwTasks::Api::people{paul} = 'payload';
$TwTasks::Api::people{olga} = 'operator,payload';

my $node = TwTasks::Cluster->create('main');

$node->add_extensions(qw(events kinds));
$node->safe_psql('postgres', slurp_file("$FindBin::RealBin/../lib/api_rows.sql"));
$node->value(q{SELECT twtasks.allow_payload('CARRIED', 'twtasks_payload_viewer')});

my $web = TwTasks::Api->start($node, 'web');

# The persons who may use a route of each role.  "nobody" sends no token, "stray" a wrong one.
my @people = qw(nobody stray vera otto pia paul olga);
my %may = (
	any => [qw(vera otto pia paul olga)],
	viewer => [qw(vera otto pia olga)],
	operator => [qw(otto olga)],
	payload => [qw(pia paul olga)]);

$web->{api_tokens}{stray} = 'x' x 43;

# ---- objects for changes: each request has one of its own ----

my $made = 0;

sub a_name
{
	return shift() . ++$made;
}

# The object of a list, as an operator sees it.
sub seen
{
	my ($list, $member, $name) = @_;
	my ($found) = grep { $_->{$member} eq $name } @{ ($web->call('otto', 'GET', "/$list?limit=200"))[1]{items} };

	return $found // die "no $name in $list";
}

# A change of a task that waits, of which the version is the last one of the steps.
sub of_task
{
	my ($action, $steps, %body) = @_;
	my $id = $node->add_task(a_name('TASK'), run_after => LATER, data => encode_json({ iban => CANARY }));

	$node->value("SELECT twtasks.${_}_task('$id', NULL, reason => 'to begin')") foreach @$steps;
	return ("/tasks/$id/$action", { version => scalar @$steps, reason => 'a test', %body });
}

# A change of a task whose try ended so.
sub of_tried
{
	my ($action, $end, %body) = @_;
	my ($id) = $web->tried($node, a_name('TRIED'), $end, 1);
	my $version = $node->value("SELECT version FROM twtasks.tasks WHERE id = '$id'");

	return ("/tasks/$id/$action", { version => $version, reason => 'a test', %body });
}

sub of_payload
{
	my $id = $node->add_task('CARRIED', run_after => LATER, data => encode_json({ iban => CANARY }));

	return ("/tasks/$id/payload", { reason => 'a test' });
}

sub of_many
{
	my $type = a_name('MANY');
	my $id = $node->add_task($type, run_after => LATER);

	return ('/changes', { action => 'hold', filter => { type => $type }, ids => [$id], expect => 1, reason => 'a test' });
}

sub of_to_do
{
	my $n = 1000 + ++$made;

	$node->value("SELECT twtasks.start('approval', jsonb_build_object('n', $n))");
	return ("/to-do/approval/refund-$n", { data => { note => 'a test' } });
}

# A new object of such a list.
sub of_new
{
	my ($list, %body) = @_;

	return ("/$list/" . a_name('NEW'), { version => 'new', reason => 'a test', %body });
}

# An object that this call made.
sub of_old
{
	my ($list, $member, $call, %body) = @_;
	my $name = a_name('OLD');

	$node->value("SELECT twtasks.$call('$name'" . ({ configure_limit => ', 1', configure_type => ', priority => 2' }->{$call} // '') . ')');
	return ("/$list/$name", { version => seen($list, $member, $name)->{changed_at}, reason => 'a test', %body });
}

sub of_pause
{
	my ($list, $kind) = @_;
	my $name = a_name('STOP');

	$node->value("SELECT twtasks.configure_bucket('$name')") if $kind eq 'bucket';
	$node->value("SELECT twtasks.pause_$kind('$name')");
	return ("/$list/$name/resume", { version => seen('pauses', 'name', $name)->{since}, reason => 'a test' });
}

sub of_schedule
{
	my ($action) = @_;
	my $name = a_name('schedule');

	$node->value("SELECT twtasks.schedule('$name', '0 0 1 1 *', 'SETTLE')");
	$node->value("SELECT twtasks.pause_schedule('$name')") if $action eq 'resume';
	return ("/schedules/$name/$action", { version => seen('schedules', 'name', $name)->{changed_at}, reason => 'a test' });
}

sub of_incident
{
	my $key = a_name('error/NEW');

	$node->value(<<"SQL");
		INSERT INTO twtasks.incident (key, kind, object, severity, opened, refreshed, count, summary)
		VALUES ('$key', 'error', '$key', 'ticket', now(), now(), 1, 'a test')
SQL
	return ('/incidents/' . $key =~ s{/}{%2F}r . '/acknowledge', { reason => 'a test' });
}

sub in_a_day
{
	return $node->value(q{SELECT to_char(now() AT TIME ZONE 'UTC' + interval '1 day', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')});
}

sub of_silence
{
	my $id = $node->value(q{SELECT twtasks.silence('error', 'SOME*', now() + interval '1 hour', 'known')});

	return ("/silences/$id", { reason => 'a test' });
}

# ---- routes: who may ask, and a right request ----

my $one = '00000000-0000-4000-8000-000000000004';
my %routes = (
	'GET /me' => [ any => '/me' ],
	(map { ("GET $_" => [ viewer => $_ ]) } qw(/audit /buckets /errors /incidents /kinds /limits /listeners /nodes /overview /pauses /payload-reads
		  /policies /queues /schedules /silences /stream /streams /stuck /tasks /to-do /types /unknown)),
	'GET /incidents/{key}' => [ viewer => '/incidents/error%2FREPORT' ],
	'GET /kind-machines/{kind}' => [ viewer => '/kind-machines/payout' ],
	'GET /kinds/{kind}/{identifier}' => [ viewer => '/kinds/payout/payout-7' ],
	'GET /outcomes' => [ viewer => '/outcomes?kind=payout' ],
	'GET /schedules/{name}/runs' => [ viewer => '/schedules/nightly/runs' ],
	'GET /streams/{stream}/objects' => [ viewer => '/streams/balances/objects' ],
	'GET /tasks/{id}' => [ viewer => "/tasks/$one" ],
	(map { ("GET /tasks/{id}/$_" => [ viewer => "/tasks/$one/$_" ]) } qw(attempts life why)),
	'GET /types/{type}' => [ viewer => '/types/PAY%7CACME' ],
	'GET /types/{type}/sub-types' => [ viewer => '/types/PAY%7CACME/sub-types' ],
	'POST /limits/{pattern}/what-if' => [ viewer => sub { ('/limits/PAY/what-if', { concurrency => 4 }) } ],

	'POST /tasks/{id}/resume' => [ operator => sub { of_task('resume', []) } ],
	'POST /tasks/{id}/reschedule' => [ operator => sub { of_task('reschedule', [], run_after => LATER) } ],
	'POST /tasks/{id}/prioritize' => [ operator => sub { of_task('prioritize', [], priority => 1) } ],
	'POST /tasks/{id}/cancel' => [ operator => sub { of_task('cancel', []) } ],
	'POST /tasks/{id}/fail' => [ operator => sub { of_tried('fail', 'error') } ],
	'POST /tasks/{id}/hold' => [ operator => sub { of_task('hold', []) } ],
	'POST /tasks/{id}/release' => [ operator => sub { of_task('release', ['hold'], run_after => LATER) } ],
	'POST /tasks/{id}/reopen' => [ operator => sub { of_task('reopen', ['cancel'], run_after => LATER) } ],
	'POST /tasks/{id}/finish' => [ operator => sub { of_tried('finish', 'lost', happened => JSON::PP::true) } ],
	'POST /changes' => [ operator => \&of_many ],
	'POST /to-do/{name}/{identifier}' => [ operator => \&of_to_do ],
	'POST /tasks/{id}/payload' => [ payload => \&of_payload ],
	'POST /payload-search' => [ payload => sub { ('/payload-search', { data => { iban => CANARY }, reason => 'a test' }) } ],

	'PUT /limits/{pattern}' => [ operator => sub { of_new('limits', scope => 'cluster', concurrency => 5) } ],
	'PUT /policies/{pattern}' => [ operator => sub { of_new('policies', options => { priority => 2 }) } ],
	'PUT /buckets/{name}' => [ operator => sub { of_new('buckets', concurrency => 5) } ],
	'DELETE /limits/{pattern}' => [ operator => sub { of_old('limits', 'pattern', 'configure_limit', scope => 'node') } ],
	'DELETE /policies/{pattern}' => [ operator => sub { of_old('policies', 'pattern', 'configure_type') } ],
	'DELETE /buckets/{name}' => [ operator => sub { of_old('buckets', 'name', 'configure_bucket') } ],
	'POST /policies/{pattern}/pause' => [ operator => sub { ('/policies/' . a_name('STOP') . '/pause', { reason => 'a test' }) } ],
	'POST /policies/{pattern}/resume' => [ operator => sub { of_pause('policies', 'type') } ],
	'POST /buckets/{name}/pause' => [ operator => sub { (map { ("$_->[0]/pause", { reason => 'a test' }) } [ of_old('buckets', 'name', 'configure_bucket') ]) } ],
	'POST /buckets/{name}/resume' => [ operator => sub { of_pause('buckets', 'bucket') } ],
	(map { my $action = $_; ("POST /schedules/{name}/$action" => [ operator => sub { of_schedule($action) } ]) } qw(run pause resume)),
	'POST /incidents/{key}/acknowledge' => [ operator => \&of_incident ],
	'POST /silences' => [ operator => sub { ('/silences', { pattern => a_name('QUIET'), until => in_a_day(), reason => 'a test' }) }, 201 ],
	'DELETE /silences/{id}' => [ operator => \&of_silence ]);

# ---- cells ----

my %cells;
my $canaries = 0;

# An address of its own for each request, since each may send only some wrong tokens.
my $asked = 0;

sub address
{
	$asked++;
	return sprintf '127.0.%d.%d', 1 + int($asked / 250), 1 + $asked % 250;
}

# Asks; returns '' if the answer has this status, or else what it has.
sub cell
{
	my ($person, $method, $path, $body, $expected) = @_;
	my ($status, $answer, $whole) =
	  $web->call($person eq 'nobody' ? undef : $person, $method, $path, from => address(), $method =~ /GET|HEAD/ ? () : (body => $body // {}));

	$cells{$expected}++;
	if (index($whole->{content} // '', CANARY) >= 0 && !($expected == 200 && $path =~ m{/payload$}))
	{
		$canaries++;
		diag("$person sees a canary: $method $path");
	}
	return $status == $expected ? '' : "$person: $status in place of $expected " . ($answer->{detail} // $answer->{title} // '');
}

sub refusal_of
{
	return $_[0] =~ /nobody|stray/ ? 401 : 403;
}

# Each person who may ask has a request that the others have tried before: since it
# names the version, its success tells that they changed nothing.
sub faults_of
{
	my ($method, $role, $request, $status) = @_;
	my %allowed = map { $_ => 1 } @{ $may{$role} };
	my @faults;

	foreach my $person (@{ $may{$role} })
	{
		my ($path, $body) = ref $request ? $request->() : ($request);

		push @faults, map { cell($_, $method, $path, $body, refusal_of($_)) } grep { !$allowed{$_} } @people;
		push @faults, cell($person, $method, $path, $body, $status);
	}
	return grep { $_ } @faults;
}

my (undef, $description) = $web->call(undef, 'GET', '/openapi.json');	# it is open
my %described;

foreach my $template (keys %{ $description->{paths} })
{
	my $operations = $description->{paths}{$template};

	$described{ uc($_) . ' ' . $template =~ s{^/api/v1}{}r } = $operations->{$_}{'x-role'} foreach grep { /^(?:get|put|post|delete|patch)$/ } keys %$operations;
}
is_deeply({ map { $_ => $routes{$_}[0] } keys %routes }, \%described, 'this test knows each route, and the role that it wants');

foreach my $route (sort keys %routes)
{
	my ($role, $request, $status) = @{ $routes{$route} };
	my ($method) = $route =~ /^(\w+)/;

	is_deeply([ faults_of($method, $role, $request, $status // 200) ], [], "$route: $role");
	is_deeply([ faults_of('HEAD', $role, $request, 200) ], [], "... HEAD too") if $method eq 'GET';
}

# ---- methods that a path does not have ----

foreach my $template (sort { $a cmp $b } keys %{ { map { s/^\w+ //r => 1 } keys %routes } })
{
	my $path = $template =~ s/\{id\}/$one/r =~ s/\{\w+\}/x/gr;
	my @others = grep { !$routes{"$_ $template"} } qw(GET POST PUT DELETE PATCH OPTIONS);
	my @faults;

	foreach my $method (@others)
	{
		push @faults, map { cell($_, $method, $path, {}, 405) } @people;
	}
	is_deeply([ grep { $_ } @faults ], [], "$template: no @others");
}

# ---- no trace of those who may not ask ----

is( $node->value(q{SELECT count(*) FROM (SELECT on_behalf_of FROM twtasks.audit UNION ALL SELECT on_behalf_of FROM twtasks.policy_audit
		UNION ALL SELECT on_behalf_of FROM twtasks.schedule_audit) a WHERE on_behalf_of NOT IN ('otto', 'olga')}),
	0, 'no audit names a person who may not change');
is($node->value(q{SELECT string_agg(DISTINCT on_behalf_of, ' ' ORDER BY on_behalf_of) FROM twtasks.payload_read WHERE on_behalf_of IS NOT NULL}),
	'olga paul pia', 'nor does that of payloads');
is($canaries, 0, 'nobody sees what a task carries');
cmp_ok($cells{$_} // 0, '>', 50, "cells of $_: " . ($cells{$_} // 0)) foreach 200, 401, 403, 405;

done_testing();
