# 209_edition_operated.pl -- the management API and twtasksctl doctor know the SQL edition:
# what it has on top, its versions, and what does not hold there.  Advice is as it can be
# followed there.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Api;
use TwTasks::Cluster;
use TwTasks::Ctl;
use TwTasks::Sidecar;
use TwTasks::Wait;

$TwTasks::Api::people{paul} = 'payload';
my $node = TwTasks::Cluster->create('main', queue => 'notify', edition => 'sql', conf => { fsync => 'on', autovacuum => 'on' });
my $version = $node->value('SELECT version FROM twtasks.edition()');
my $all = 'twtasks twtasks_events twtasks_kinds';

is($node->value('SELECT extensions FROM twtasks.edition()'), '{}', 'there is nothing on top');
$node->install_on_top('postgres', 'sql', $_) foreach qw(events kinds);
is($node->value('SELECT extensions FROM twtasks.edition()'), qq({"twtasks_kinds": "$version", "twtasks_events": "$version"}), '... then events and kinds');
$node->value(<<'SQL');
	SELECT twtasks.configure_stream('works', 'WORKS');
	SELECT twtasks.configure_kind('mail', 'idempotent', 'MAIL', 'mail-{/n}');
	SELECT twtasks.adopt('production');
	CREATE ROLE viewer LOGIN IN ROLE twtasks_viewer, pg_read_all_stats;
	CREATE ROLE somebody;
SQL

# ---- the management API ----

my $web = TwTasks::Api->start($node, 'web');

foreach my $person (qw(vera otto pia paul))
{
	my ($status, $me) = $web->call_as_described($person, 'GET', '/me');

	is("$status $me->{edition} $me->{extension_version} @{ $me->{extensions} }", "200 sql $version $all", "$person hears what the database has");
}
foreach my $list (qw(streams kinds to-do))
{
	my ($status, $answer) = $web->call_as_described('vera', 'GET', "/$list");

	is($status, 200, "the page of $list has its rows") or diag(explain($answer));
	is($answer->{items}[0]{name}, { streams => 'works', kinds => 'mail' }->{$list}, "... which are those of the database");
}
is_deeply($web->faults, [], 'all answers are as described');

# ---- the doctor ----

my $sidecar = TwTasks::Sidecar->start($node, 'a', environment => 'production',
	handlers => [ { types => ['*'], noop => JSON::PP::true } ]);
my $ctl = TwTasks::Ctl->new($node, 'viewer');

sub findings
{
	my ($of) = @_;
	my (undef, $out) = $of->run([ 'doctor', '--json' ]);

	return join "\n", map { "$_->{check}: $_->{sentence}: $_->{command}" } grep { $_->{finding} ne 'OK' } @{ JSON::PP::decode_json($out) };
}

# Plants a fault, and looks for it.
sub found_ok
{
	my ($pattern, $plant, $mend) = @_;

	$node->value($plant);
	like(findings($ctl), $pattern, "the doctor finds: $pattern");
	$node->value($mend);
	return;
}

push @TwTasks::Wait::on_failure, sub { diag(findings($ctl)) };
wait_ok(sub { findings($ctl) eq '' }, 'the doctor has no finding');
found_ok(qr/^extension: the SQL of twtasks_kinds has version 0\.9, and this program \Q$version\E: load the update/m,
	q(UPDATE twtasks_internal.installed_extension SET version = '0.9' WHERE name = 'twtasks_kinds'),
	qq(UPDATE twtasks_internal.installed_extension SET version = '$version'));
found_ok(qr/^extension: the SQL of twtasks has version 0\.9, /m,
	q(UPDATE twtasks_internal.installed SET version = '0.9'), qq(UPDATE twtasks_internal.installed SET version = '$version'));
found_ok(qr/^owner: table twtasks\.audit belongs to "somebody": ALTER TABLE twtasks\.audit OWNER TO twtasks_owner$/m,
	'ALTER TABLE twtasks.audit OWNER TO somebody', 'ALTER TABLE twtasks.audit OWNER TO twtasks_owner');
found_ok(qr/^roles: role "somebody" is a member of twtasks_owner/m, 'GRANT twtasks_owner TO somebody', 'REVOKE twtasks_owner FROM somebody');
is(findings($ctl), '', 'without these faults it has none');
is($sidecar->stop, 0, 'the sidecar stops in order');

# ---- advice ----

my $id = $node->add_task('LATE');
$node->value(q(UPDATE twtasks.setting SET value = 'off' WHERE name = 'enabled'));
my $advice = $node->value("SELECT a ->> 'sql' FROM twtasks.why('$id') w, jsonb_array_elements(w.advice) a WHERE a ->> 'sql' ~ 'enabled'");
is($advice, q(UPDATE twtasks.setting SET value = 'on' WHERE name = 'enabled'), 'the advice is a change of the setting');
$node->value($advice);
is($node->value('SELECT twtasks.is_enabled()'), 't', '... which helps');
like($node->common_session->try("SELECT twtasks.advance_clock('1 s')"), qr/HINT: .*UPDATE twtasks\.setting SET value = 'on' WHERE name = 'testing'/,
	'functions for tests say how they are switched on');

# ---- one role ----

my $solo = TwTasks::Cluster->create('solo', queue => 'notify', edition => 'one-role');
my $of_one = findings(TwTasks::Ctl->new($solo, 'installer'));
like($of_one, qr/^nodes: no sidecar lives/m, 'the one role asks the doctor');
unlike($of_one, qr/^(?:extension|preload|owner|roles): /m, '... who does not expect roles');

done_testing();
