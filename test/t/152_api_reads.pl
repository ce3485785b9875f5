# 152_api_reads.pl -- the reads of the management API: each answers as its schema
# says, shows nothing that a task carries, stays bounded beside 10,000 types, and its
# pages meet without a gap.

use strict;
use warnings FATAL => 'all';

use FindBin;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Api;
use TwTasks::Cluster;
use TwTasks::Schema qw(use_schemas schema_faults);
use TwTasks::Wait;

my $node = TwTasks::Cluster->create('main');

$node->add_extensions(qw(events kinds));
$node->safe_psql('postgres', slurp_file("$FindBin::RealBin/../lib/api_rows.sql"));

my $web = TwTasks::Api->start($node, 'web');
my $json = JSON::PP->new->canonical;

# The task n of api_rows.sql.
sub id
{
	return sprintf '00000000-0000-4000-8000-%012d', $_[0];
}

# Each read: path of its route, path with a query, what it has to show.  A list of
# pages has "key", the members of an item that tell it from all others.
my @reads = (
	{ route => '/overview', some => [qw(incidents warnings types buckets)] },
	{ route => '/types', key => ['type'] },
	{ route => '/types/{type}', path => '/types/PAY%7CACME', some => [qw(counts policy_from limits nodes)] },
	{ route => '/types/{type}/sub-types', path => '/types/PAY%7CACME/sub-types' },
	{ route => '/tasks', key => ['id'] },
	{ route => '/tasks', path => '/tasks?status=ERROR,HELD', key => ['id'] },
	{ route => '/tasks', path => '/tasks?type=PAY%7C*&key_prefix=order', key => ['id'] },
	{ route => '/tasks', path => '/tasks?id=' . join(',', map { id($_) } 1 .. 3) },
	{ route => '/tasks/{id}', path => '/tasks/' . id(4), some => [] },
	{ route => '/tasks/{id}/life', path => '/tasks/' . id(4) . '/life', key => ['n'], is_backwards => 1 },
	{ route => '/tasks/{id}/attempts', path => '/tasks/' . id(4) . '/attempts', key => ['version'] },
	{ route => '/tasks/{id}/why', path => '/tasks/' . id(3) . '/why', some => [] },
	{ route => '/stuck' },
	{ route => '/errors' },
	{ route => '/unknown', key => ['id'] },
	{ route => '/incidents', path => '/incidents?state=all', key => ['id'] },
	{ route => '/incidents/{key}', path => '/incidents/error%2FREPORT', some => [qw(messages earlier)] },
	{ route => '/silences', key => ['id'] },
	{ route => '/nodes', key => ['incarnation'] },
	{ route => '/buckets', key => ['name'] },
	{ route => '/queues', some => [ $node->has_ring ? 'items' : () ] },
	{ route => '/limits', key => [qw(pattern scope)] },
	{ route => '/policies', key => ['pattern'] },
	{ route => '/pauses', key => [qw(kind name)] },
	{ route => '/schedules', key => ['name'] },
	{ route => '/schedules/{name}/runs', path => '/schedules/nightly/runs', key => ['occurrence'] },
	{ route => '/listeners', key => ['partition'] },
	(map { { route => '/audit', path => "/audit?of=$_", key => ['id'] } } qw(tasks schedules policies)),
	{ route => '/payload-reads', key => ['id'] },
	{ route => '/streams', key => ['name'] },
	(map { { route => '/streams/{stream}/objects', path => "/streams/balances/objects?state=$_", key => ['object'] } } qw(all blocked queued)),
	{ route => '/kinds', key => ['name'] },
	{ route => '/kind-machines/{kind}', path => '/kind-machines/payout', some => [qw(states transitions)] },
	{ route => '/kinds/{kind}/{identifier}', path => '/kinds/payout/payout-7', some => [qw(attempts anomalies)] },
	(map { { route => '/outcomes', path => "/outcomes?kind=payout&state=$_", key => ['identifier'] } } qw(undecided problem decided all)),
	{ route => '/outcomes', path => '/outcomes?kind=payout&state=all&prefix=payout-3', key => ['identifier'] },
	{ route => '/to-do', key => [qw(kind identifier)] });

sub get
{
	my ($path) = @_;

	return $web->call('vera', 'GET', $path);
}

# With a parameter more.
sub with
{
	my ($path, $parameter) = @_;

	return $path . ($path =~ /\?/ ? '&' : '?') . $parameter;
}

# ---- the description knows them all ----

my (undef, $description) = $web->call(undef, 'GET', '/openapi.json');
my %schema;

use_schemas($description);
foreach my $path (keys %{ $description->{paths} })
{
	my $get = $description->{paths}{$path}{get} // next;
	my $name = encode_json($get->{responses}{200}) =~ m{"\$ref":"#/components/schemas/(\w+)"} ? $1 : next;

	$schema{$path} = $name unless $path =~ m{^(/api/v1)?/me$};
}
%schema = map { s{^/api/v1}{}r => $schema{$_} } keys %schema;
is_deeply([ sort keys %schema ], [ sort keys %{ { map { $_->{route} => 1 } @reads } } ], 'each route that reads is asked below');

# ---- answers, and pages of two items ----

# All items, by pages of two.
sub pages
{
	my ($path, $is_backwards) = @_;
	my ($cursor, @items, $again);

	do
	{
		my ($status, $page) = get(with($path, 'limit=2' . (defined $cursor ? '&cursor=' . $cursor =~ s/([^\w.-])/sprintf '%%%02X', ord $1/ger : '')));

		return "status $status" if $status != 200;
		return 'too many items' if @{ $page->{items} } > 2;
		@items = $is_backwards ? (@{ $page->{items} }, @items) : (@items, @{ $page->{items} });
		$cursor = $page->{cursor};
	} while (defined $cursor && $again++ < 100);

	return \@items;
}

foreach my $read (@reads)
{
	my $path = $read->{path} // $read->{route};
	my ($status, $body, $answer) = get($read->{key} ? with($path, 'limit=200') : $path);

	is($status, 200, $path) or diag($answer->{content});
	is(join("\n", schema_faults($body, $schema{ $read->{route} })), '', "... answers as $schema{ $read->{route} }");
	unlike($answer->{content}, qr/canary/, '... without what tasks carry');
	cmp_ok(scalar @{ $body->{$_} }, '>', 0, "... with $_") foreach @{ $read->{some} // ['items'] };
	next unless $read->{key};

	my @all = map { $json->encode([ @$_{ @{ $read->{key} } } ]) } @{ $body->{items} };
	my $pages = pages($path, $read->{is_backwards});

	is_deeply(
		ref $pages ? [ map { $json->encode([ @$_{ @{ $read->{key} } } ]) } @$pages ] : $pages,
		\@all, '... in pages without a gap');
	is(scalar @all, scalar keys %{ { map { $_ => 1 } @all } }, '... and no item twice') unless $path =~ m{/attempts$};
}

# ---- what is refused ----

foreach my $read (@reads)
{
	my ($status, $problem) = get(with($read->{path} // $read->{route}, 'nonsense=1'));

	is("$status " . ($problem->{type} // ''), '400 /problems/bad-request', "$read->{route} does not know \"nonsense\"");
}
foreach my $path (
	'/tasks/' . id(99), '/tasks/' . id(99) . '/life', '/tasks/' . id(99) . '/attempts', '/tasks/' . id(99) . '/why',
	'/incidents/none', '/schedules/none/runs', '/streams/none/objects', '/kind-machines/none', '/kinds/payout/machine', '/kinds/payout/none', '/outcomes?kind=none')
{
	is((get($path))[0], 404, "$path: no such object");
}
foreach my $path ('/tasks?limit=201', '/tasks?limit=0', '/tasks?status=RUNNING', '/tasks?since=yesterday', '/outcomes', '/audit?of=all', '/incidents?cursor=x')
{
	is((get($path))[0], 400, "$path is refused");
}
is((get('/unknown?cursor=x'))[0], 422, 'so is a cursor of nothing');

# ---- single facts ----

my ($status, $task, $answer) = get('/tasks/' . id(4));

is($answer->{headers}{etag}, "\"$task->{version}\"", 'the ETag of a task is its version');
is(($web->call('vera', 'GET', '/tasks/' . id(4), headers => { 'If-None-Match' => $answer->{headers}{etag} }))[0], 304, '... and it need not be sent again');
is($task->{progress}, undef, 'a task that does not run has no progress');
($status, my $running, $answer) = get('/tasks/' . id(3));
is_deeply([ @{ $running->{progress} }{qw(percent note)} ], [ 40, 'page 2 of 5' ], 'a running task has the progress that its handler reported');
is(join("\n", schema_faults($running, 'TaskDetail')), '', '... as its schema says');
is($answer->{headers}{etag}, undef, '... and no ETag, since a report leaves its version');
is((get('/tasks/' . id(6)))[1]{unknown_outcome}, JSON::PP::true, 'a task of unknown outcome');
is($task->{unknown_outcome}, JSON::PP::false, '... and one whose error is known');
is((get('/tasks/' . id(3) . '/why'))[1]{cancel_requested}{reason}, 'too late', 'somebody asked to cancel a task');
is(scalar @{ (get('/audit?person=none'))[1]{items} }, 0, 'nobody of that name changed a task');
is((get('/audit?task=' . id(3)))[1]{items}[0]{action}, 'request_cancel', 'the audit of a task');
is((get('/audit?since=2001-01-01T00:00:00Z&until=2001-01-01T01:00:00Z'))[1]{is_complete}, JSON::PP::true, 'an hour without changes');
is((get('/to-do'))[1]{items}[0]{read_model}{refund}, 1, 'a viewer whom the kind names reads its items');
like((get('/to-do'))[1]{items}[0]{read_model_text}, qr/^\{\n    "refund": 1\n\}$/, '... also as text');
is_deeply([ map { $_->{may_read} ? 1 : 0 } @{ (get('/to-do'))[1]{kinds} } ], [ 1, 0 ], '... and no others');
is((get('/kinds/payout/payout-7'))[1]{state}, 'decided', 'where an identifier is in its machine');
is((get('/kinds/payout/payout-3'))[1]{state}, 'find', '... under way');
is_deeply([ map { scalar @{ $_->{faults} } } @{ (get('/nodes?state=alive'))[1]{items} } ], [ 0, 1 ], 'faults of nodes');
is_deeply([ map { scalar @{ $_->{next} } } @{ (get('/schedules'))[1]{items} } ], [ 5, 0, 5 ], 'five times to come, and none while paused');

# ---- 6,000 tasks of unknown outcome, the last one lost last ----

$node->value(<<'SQL');
	INSERT INTO twtasks.task (id, next_event_time, state_time, created, status, queued, type, error)
	SELECT api.id(100000 + n), 'infinity', now() - (6001 - n) * interval '1 ms', now(), 'ERROR', false, 'LOST', 'the node that ran it is gone'
	FROM generate_series(1, 6000) n
SQL
my ($cursor, @lost) = ('');

do
{
	my (undef, $page) = get("/unknown?type=LOST&limit=200&cursor=$cursor" =~ s/&cursor=$//r);

	is("$page->{total}, $page->{total_capped}", '5000, 1', 'more than 5,000 are not counted') unless @lost;
	push @lost, map { $_->{id} } @{ $page->{items} };
	$cursor = ($page->{cursor} // '') =~ s/([^\w.-])/sprintf '%%%02X', ord $1/ger;
} while ($cursor ne '' && @lost <= 6000);
is_deeply(\@lost, [ map { id(100_000 + $_) } reverse 1 .. 6000 ], '... but listed, from the last one on');
$node->value("DELETE FROM twtasks.task WHERE type = 'LOST'");

# ---- 10,000 types ----

$node->value(<<'SQL');
	INSERT INTO twtasks.monitor_type (at, bucket, type, status, tasks, capped, oldest, retrying)
	SELECT now(), b, 'T' || n, s, n, false, now() - n * interval '1 s', 0
	FROM generate_series(1, 10000) n, unnest('{default,slow}'::text[]) b, unnest('{SUBMITTED,ERROR}'::twtasks.task_status[]) s;
	INSERT INTO twtasks.flow (at, step, node, bucket, type, started, done, failed, errors, retried, refused, unknown)
	SELECT now() - interval '1 s', '1 s', 101, 'default', 'T' || n, 1, 1, 0, 0, 0, 0, 0 FROM generate_series(1, 1000) n;
	INSERT INTO twtasks.incident (key, kind, object, severity, opened, refreshed, count, summary)
	SELECT 'error/T' || n, 'error', 'T' || n, 'ticket', now(), now(), 1, repeat('x', 2000) FROM generate_series(1, 1000) n;
	ANALYZE
SQL
my ($overview, $large);

wait_for(
	sub {
		(undef, $overview, $large) = get('/overview');
		return ($overview->{types}[0]{type} // '') eq 'T10000';
	},
	'the worst type first');
is(scalar @{ $overview->{types} }, 200, 'the first page has at most 200 types');
is(scalar @{ $overview->{incidents} }, 100, '... 100 incidents');
cmp_ok($overview->{incidents_open}, '>', 1000, '... and the number of all');
cmp_ok(length $large->{content}, '<', 400_000, '... and is not large');
is(join("\n", schema_faults($overview, 'Overview')), '', '... as its schema says');
(undef, my $types) = get('/types?limit=200&type=T*');
is(scalar @{ $types->{items} }, 200, 'a page of types');
is($types->{cursor}, $types->{items}[199]{type}, '... leads to the next one');

done_testing();
