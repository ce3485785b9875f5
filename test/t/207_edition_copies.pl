# 207_edition_copies.pl -- a copy of a whole server that has the SQL edition executes
# nothing until somebody adopts it: a sidecar reaches it by another address.  The same
# server under another name goes on as soon as an operator says so.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Cluster;
use TwTasks::Ledger;
use TwTasks::Sidecar;
use TwTasks::Wait;

my $ledger = TwTasks::Ledger->new;
my $node = TwTasks::Cluster->create('main', queue => 'notify', edition => 'sql', init => { allows_streaming => 1 });
my $copy = TwTasks::Cluster->new('copy');
my $own = $node->host . ':' . $node->port . '/postgres';
my $copied = $copy->host . ':' . $copy->port . '/postgres';
my $other_host = PostgreSQL::Test::Utils::tempdir_short() . '/name';
my $other = "$other_host:" . $node->port . '/postgres';
my $addresses = 'SELECT string_agg(address, \' \' ORDER BY address) FROM twtasks_internal.address';

symlink $node->host, $other_host or die "could not make a second name of the server: $!";

sub sidecar_of
{
	my ($server, $name, %config) = @_;

	return TwTasks::Sidecar->prepare($server, $name, environment => 'production',
		handlers => [ { types => ['*'], command => $ledger->command } ], %config);
}

sub refused_ok
{
	my ($sidecar, $why, $what) = @_;

	$sidecar->launch;
	return ok($sidecar->wait_for_log(qr/ERROR adoption: executes nothing in this database: \Q$why\E; see twtasks\.adopt/), $what);
}

sub ended_ok
{
	my ($server, $id, $what) = @_;

	return wait_ok(sub { $server->status_of($id) eq 'DONE' }, $what);
}

sub adopted
{
	my ($server, @rest) = @_;

	return $server->value('SELECT held FROM twtasks.adopt(' . join(', ', @rest) . ')');
}

is(adopted($node, '\'production\''), 0, 'the environment gets a name');
my $sidecar = sidecar_of($node, 'first')->run;
is($node->value($addresses), $own, 'the first sidecar tells the address of the database');
ended_ok($node, $node->add_task('FIRST'), 'a task runs there');
is($sidecar->stop, 0, 'the sidecar stops in order');

# ---- a copy, as of a snapshot of the whole server ----

my $paid = $node->add_task('PAY');
$node->backup('backup');
$copy->init_from_backup($node, 'backup');
$copy->start;
is($copy->value('SELECT twtasks.is_adopted()'), 't', 'the copy has all that its rows and the server say of the original');

my $astray = sidecar_of($copy, 'astray');
refused_ok($astray, qq(it was adopted at "$own", not at "$copied"), 'a sidecar that reaches the copy executes nothing, and says why');
is($copy->value('SELECT detail FROM twtasks.warnings WHERE warning = \'node refused\''),
	qq(node "astray": it was adopted at "$own", not at "$copied"), 'a warning says it, too');
like($copy->value('SELECT hint FROM twtasks.warnings WHERE warning = \'node refused\''),
	qr/adopt\('staging'\), which holds .*adopt\('production', address => '\Q$copied\E'\)$/, '... and what to type');
is(adopted($copy, '\'staging\''), 1, 'the adoption of the copy holds its task');
is($copy->value($addresses), '', '... and forgets the address of the original');
is($astray->stop, 0, 'the refused sidecar stops in order');
my $staging = sidecar_of($copy, 'staging', environment => 'staging')->run;
is($copy->value($addresses), $copied, 'the copy has an address of its own');
ended_ok($copy, $copy->add_task('TEST'), 'new tasks run in the copy');
is($copy->status_of($paid), 'HELD', 'the task of the original does not');
is($staging->stop, 0, 'the sidecar of the copy stops in order');
$copy->stop;

# ---- the same server under another name ----

my $renamed = sidecar_of($node, 'renamed', postgres => "host=$other_host port=" . $node->port . ' dbname=postgres user=sidecar');
$sidecar->run;
ended_ok($node, $paid, 'the original goes on without a word');
refused_ok($renamed, qq(it was adopted at "$own", not at "$other"), 'another name of the server is refused');
like($node->common_session->try("SELECT twtasks.adopt('production', address => '$other_host')"), qr/22023.*invalid address/, 'an address without a port is refused');
is(adopted($node, '\'production\''), 0, 'an adoption while a sidecar works here holds nothing');
is($node->value($addresses), $own, '... and leaves the addresses as they are');
is($sidecar->stop, 0, 'the sidecar stops in order');
$node->add_task('LATER', run_after => '2100-01-01');
is(adopted($node, '\'production\'', "address => '$other'"), 0, 'another address holds nothing, even while no sidecar works');
ok($renamed->wait_for_log(qr/started as incarnation/), 'the sidecar begins by itself');
ended_ok($node, $node->add_task('RENAMED'), '... and runs tasks');
is($renamed->stop, 0, 'it stops in order');

# ---- several servers in one configuration ----

is($node->value("DELETE FROM twtasks_internal.address WHERE address = '$other' RETURNING 1"), 1, 'that address is forgotten');
my $both = sidecar_of($node, 'both',
	postgres => 'host=' . $node->host . ",$other_host port=" . $node->port . ' dbname=postgres user=sidecar')->run;
is($node->value($addresses), join(' ', sort $own, $other), 'a recorded address vouches for the other servers of the configuration');
is($both->stop, 0, 'the sidecar stops in order');
isnt($node->value('SELECT twtasks_internal.start_node(\'old\', environment => \'production\')'), '', 'an older sidecar, which tells no address, is not refused');

done_testing();
